// What is begun, and the frames.
function fault(error) {
  element("fault").textContent = error.message;
  element("fault").hidden = false;
  console.error(error.message);
}

// A wrong setting is said on the page.
function guarded(action) {
  try {
    element("fault").hidden = true;
    action();
  } catch (error) {
    fault(error);
  }
}

function seedOf(text) {
  if (!/^\d{1,10}$/.test(text) || +text > 4294967295) throw new Error(`the seed is "${text}": it must be a whole number from 0 to 4294967295`);
  return +text;
}

// Puts the address on the clipboard, where the browser lets a page do so.
function copied(hint) {
  navigator.clipboard?.writeText(location.href).then(() => (element(hint).textContent += " It is copied."), () => {});
}

const seen = new Set();
let before = 0;
function frame(now) {
  const elapsed = now - before;
  before = now;
  for (const part of seen) {
    try {
      part.frame(elapsed);
    } catch (error) {
      fault(error);
    }
  }
  requestAnimationFrame(frame);
}

async function begin() {
  colours.read();
  await kernel.load();
  element("build").textContent = kernel.simd ? "WebAssembly with SIMD" : "WebAssembly without SIMD";
  lattice.begin();
  await digits.begin();
  plane.begin();
  for (const part of [lattice, digits, plane]) part.listen();
  hashes();
  // What is out of sight stands still.
  const places = new Map([[element("spins"), lattice], [element("digits"), digits], [element("plane"), plane]]);
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(places.get(target));
      else seen.delete(places.get(target));
    }
  });
  for (const place of places.keys()) watch.observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours.read();
    for (const part of [lattice, digits, plane]) part.show();
  });
  addEventListener("hashchange", () => {
    if (location.hash !== address.own) location.reload();
  });
  document.body.dataset.ready = "yes";
  requestAnimationFrame((now) => {
    before = now;
    requestAnimationFrame(frame);
  });
}

begin().catch(fault);
