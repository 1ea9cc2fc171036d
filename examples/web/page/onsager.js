// Exact results for the infinite square lattice at J = 1 without a field.
const critical = 2 / Math.log(1 + Math.SQRT2);

// Yang 1952: the spontaneous magnetisation.
function magnetisation(temperature) {
  return temperature >= critical ? 0 : (1 - Math.sinh(2 / temperature) ** -4) ** 0.125;
}

// The complete elliptic integral of modulus k, by the arithmetic-geometric mean.
function elliptic(k) {
  let [a, b] = [1, Math.sqrt(1 - k * k)];
  while (Math.abs(a - b) > 1e-14 * a) [a, b] = [(a + b) / 2, Math.sqrt(a * b)];
  return Math.PI / (2 * a);
}

// Onsager 1944: the energy a site, −coth 2K (1 + (2/π)(2 tanh² 2K − 1) K₁(k)), k = 2 sinh 2K / cosh² 2K, K = 1/T.
function energy(temperature) {
  const twice = 2 / temperature;
  const k = Math.min((2 * Math.sinh(twice)) / Math.cosh(twice) ** 2, 1 - 1e-12);
  return (-1 / Math.tanh(twice)) * (1 + (2 / Math.PI) * (2 * Math.tanh(twice) ** 2 - 1) * elliptic(k));
}
