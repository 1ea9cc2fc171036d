// The lattice: its controls, its frames, and what is measured on it.
const samplers = {
  gibbs: "Gibbs: every spin in turn, given its neighbours. A step is a sweep; domains grow slowly.",
  dmala: "DMALA: flips are proposed everywhere at once from the gradient. The step size is tuned for 200 steps.",
  "ab-edge": "AB-edge: second-order proposals with one random number for each edge. Every move is accepted.",
  wolff: "Wolff: one cluster of equal spins flips. From a random start clusters are small: start it aligned.",
  "swendsen-wang": "Swendsen–Wang: all clusters at once. Each flips with probability one half.",
};

// The mean over about the later half of a run: what lies before the last power of two but one is forgotten.
class LaterHalf {
  constructor() {
    [this.count, this.mark, this.before, this.since] = [0, 1, [0, 0], [0, 0]];
  }
  add(value) {
    this.count++;
    if (this.count === 2 * this.mark) [this.mark, this.before, this.since] = [this.count, this.since, [0, 0]];
    this.since[0] += value;
    this.since[1]++;
  }
  mean() {
    return (this.before[0] + this.since[0]) / (this.before[1] + this.since[1]);
  }
}

class Lattice extends Part {
  read() {
    const names = Object.keys(samplers);
    this.side = +address.choice("side", "512", ["64", "128", "256", "512"]);
    this.temperature = address.number("T", 2.269, 0.1, 100);
    this.field = address.number("h", 0, -10, 10);
    this.sampler = address.choice("sampler", "gibbs", names);
    this.steps = +address.choice("steps", "1", ["1", "2", "4", "8", "16", "32", "64"]);
    this.from = address.choice("start", "random", ["random", "aligned"]);
    this.seed = address.whole("seed", 1, 0, 4294967295);
    this.readStep("at", 100000000);
  }

  settings() {
    return [this.temperature, this.field, Object.keys(samplers).indexOf(this.sampler)];
  }

  start() {
    kernel.must("lattice_start", this.side, this.seed, this.from === "aligned" ? 1 : 0, ...this.settings());
    this.picture = new Picture(element("spins"), this.side, this.side);
    [this.at, this.replays] = [0, true];
    this.forget();
    this.show();
  }

  // Other settings for the same spins: a link would not lead here.
  change() {
    kernel.must("lattice_set", ...this.settings());
    this.replays = this.at === 0;
    this.forget();
    this.show();
  }

  forget() {
    [this.magnetisations, this.energies] = [new LaterHalf(), new LaterHalf()];
    this.updates.reset();
    this.moved = 0;
    this.save(false);
  }

  save(picture) {
    const { side, temperature, field, sampler, steps, from, seed } = this;
    address.write({ side, T: temperature, h: field || null, sampler, steps, start: from, seed, at: picture && this.replays ? this.at : null }, picture);
  }

  run(steps) {
    // Wolff looks at one cluster a step, the others at every site.
    const cluster = () => kernel.calls.lattice_moved() - this.moved;
    this.timed("lattice_run", steps, this.sampler === "wolff" ? cluster : this.side ** 2);
    this.moved = kernel.calls.lattice_moved();
    this.magnetisations.add(Math.abs(kernel.calls.lattice_magnetisation()));
    this.energies.add(kernel.calls.lattice_energy());
  }

  each() {
    return this.steps;
  }

  frame(elapsed) {
    if (this.pending) {
      this.pending = false;
      this.change();
    }
    super.frame(elapsed);
  }

  show() {
    const { calls } = kernel;
    this.picture.draw(kernel.words(calls.lattice_words(), this.side ** 2 / 32), colours.down, colours.up);
    const [m, e] = [calls.lattice_magnetisation(), calls.lattice_energy()];
    const mean = (half, now) => (half.count ? half.mean() : now);
    this.curves[0].show(this.temperature, Math.abs(m), mean(this.magnetisations, Math.abs(m)), this.field);
    this.curves[1].show(this.temperature, e, mean(this.energies, e), this.field);
    const more = [["m", m.toFixed(3).replace("-", "−")], ["energy a site", e.toFixed(3).replace("-", "−")]];
    if (this.sampler === "dmala") more.push(["accepted", (calls.lattice_acceptance() || 0).toFixed(2)], ["step size", calls.lattice_step_size().toFixed(3)]);
    this.numbers("lattice-numbers", more, "million site updates a second");
    element("lattice").dataset.at = this.at;
  }

  controls() {
    element("temperature").value = this.temperature;
    element("temperature-said").textContent = `T = ${this.temperature}`;
    element("field").value = this.field;
    element("field-said").textContent = `h = ${this.field}`.replace("-", "−");
    element("start").value = this.from;
    for (const name of ["sampler", "side", "steps", "seed"]) element(name).value = this[name];
    element("sampler-hint").textContent = samplers[this.sampler];
    element("pause").textContent = this.playing ? "Pause" : "Run";
    element("step").disabled = this.playing;
    element("plot-hint").textContent =
      "Curve: exact, infinite lattice" + (this.field ? " without a field, which does not hold at this h. " : ", no field. ") +
      "Dot: mean over the later half of the steps since the last change. Ring: this frame.";
  }

  listen() {
    const settings = (change) => (input) => {
      element("link-hint").textContent = "";
      change(input);
      this.pending = true;
      if (!this.playing) this.frame(0);
    };
    this.on("temperature", "input", settings((input) => (this.temperature = +input.value)));
    this.on("critical", "click", settings(() => (this.temperature = +critical.toFixed(6))));
    this.on("field", "input", settings((input) => (this.field = +input.value)));
    this.on("no-field", "click", settings(() => (this.field = 0)));
    this.on("sampler", "change", settings((input) => (this.sampler = input.value)));
    this.anew("side", "change", (input) => (this.side = +input.value));
    this.anew("start", "change", (input) => (this.from = input.value));
    this.anew("seed", "change", (input) => (this.seed = seedOf(input.value)));
    this.anew("restart", "click", () => {});
    this.on("steps", "change", (input) => {
      this.steps = +input.value;
      this.save(false);
    });
    this.on("pause", "click", () => this.play(!this.playing));
    this.on("step", "click", () => {
      this.run(1);
      this.show();
      this.save(true);
    });
    this.on("link", "click", () => {
      this.play(false);
      element("link-hint").textContent = this.replays
        ? "The address bar has the link to this very picture."
        : "The settings changed on the way here, so the address has the settings only. Restart for a link to a picture.";
      if (this.replays) copied("link-hint");
    });
  }

  begin() {
    this.curves = [
      new Plot(element("plot-magnetisation"), { title: "magnetisation |m|", curve: magnetisation, low: 0, high: 1, ticks: [0, 0.5, 1] }),
      new Plot(element("plot-energy"), { title: "energy a site", curve: energy, low: -2, high: -0.5, ticks: [-2, -1.5, -1, -0.5] }),
    ];
    this.read();
    this.start();
    this.controls();
  }
}

const lattice = new Lattice();
