// The plane: how often chains of two samplers were where, beside the exact distribution.
const bins = 150;
class Plane extends Part {
  count = 16;

  read() {
    this.seed = address.whole("plane-seed", 1, 0, 4294967295);
    this.readStep("plane-at", 1000000);
  }

  start() {
    kernel.must("plane_start", this.count, this.seed);
    this.at = 0;
    this.updates.reset();
    this.save(false);
    this.show();
  }

  save(picture) {
    address.write({ "plane-seed": this.seed, "plane-at": picture ? this.at : null }, picture);
  }

  run(steps) {
    this.timed("plane_run", steps, 2 * this.count);
  }

  each() {
    return 8;
  }

  // Round normal modes of variance 100, at 75, 150, … 375 in both directions; a bin is 3 × 3 values.
  exact() {
    const line = Array.from({ length: bins }, (_, bin) =>
      [75, 150, 225, 300, 375].reduce((sum, mean) => sum + Math.exp(-((3 * bin + 1 - mean) ** 2) / 200), 0));
    const all = line.reduce((sum, value) => sum + value, 0) ** 2;
    return Float64Array.from({ length: bins * bins }, (_, at) => (line[at % bins] * line[Math.floor(at / bins)]) / all);
  }

  show() {
    const most = Math.max(...this.density);
    this.pictures.forEach((picture, panel) => {
      const shares = panel === 0 ? this.density : kernel.words(kernel.calls.plane_counts(panel - 1), bins * bins);
      const one = panel === 0 ? most : most * this.at * this.count;
      // A bin that was seen once is seen on the picture.
      picture.pixels.forEach((_, at) => (picture.pixels[at] = colours.ramp[shares[at] > one / 5000 ? Math.ceil(Math.min(1, Math.sqrt(shares[at] / one)) * 63) : 0]));
      picture.show();
    });
    for (const panel of [0, 1]) element(`found-${panel}`).textContent = `${kernel.calls.plane_found(panel).toFixed(1)} of 25 modes`;
    this.numbers("plane-numbers", [], "million chain steps a second");
    element("plane").dataset.at = this.at;
  }

  controls() {
    element("plane-seed").value = this.seed;
    element("plane-pause").textContent = this.playing ? "Pause" : "Run";
  }

  listen() {
    this.anew("plane-seed", "change", (input) => (this.seed = seedOf(input.value)));
    this.anew("plane-restart", "click", () => {});
    element("plane-pause").addEventListener("click", () => this.play(!this.playing));
    element("plane-link").addEventListener("click", () => {
      this.play(false);
      element("plane-hint").textContent = "The address bar has the link to these very pictures.";
      copied("plane-hint");
    });
  }

  begin() {
    this.density = this.exact();
    this.pictures = ["exact", "dmala", "acs"].map((name) => new Picture(element(`plane-${name}`), bins, bins));
    this.read();
    this.start();
    this.controls();
  }
}

const plane = new Plane();
