// A part of the page that runs frame by frame: what the lattice, the digits and the plane share. A part has `run(steps)`, `show()`,
// `save(picture)`, which writes its address, and `controls()`; `each()` is the steps of a frame.
class Part {
  constructor() {
    [this.playing, this.at, this.target] = [true, 0, 0];
    [this.frames, this.updates] = [new Meter(), new Meter()];
  }

  // A picture of a link: the page goes to its step, and stops there.
  readStep(name, most) {
    this.target = address.whole(name, 0, 0, most);
    this.playing = !address.read().has(name);
  }

  // `elapsed` milliseconds after the frame before.
  frame(elapsed) {
    if (this.at < this.target) {
      const end = performance.now() + 30;
      do this.run(Math.min(this.target - this.at, this.each()));
      while (this.at < this.target && performance.now() < end);
      this.show();
      if (this.at >= this.target) this.save(!this.playing);
    } else if (this.playing) {
      this.frames.add(1, elapsed);
      this.run(this.each());
      this.show();
    }
  }

  play(playing) {
    this.playing = playing;
    this.target = 0;
    this.frames.reset();
    this.save(!playing);
    this.controls();
    this.show();
  }

  // Steps, timed: each counts for `sites` updates, or for what the call says.
  timed(call, steps, sites) {
    const begin = performance.now();
    kernel.calls[call](steps);
    const time = performance.now() - begin;
    this.at += steps;
    this.updates.add(typeof sites === "function" ? sites() : steps * sites, time);
  }

  numbers(id, more, what) {
    const rate = (meter, unit) => (this.playing ? meter.text(unit) : "–");
    const all = [["step", this.at.toLocaleString("en")], ...more, [what, rate(this.updates, 1e6)], ["frames a second", rate(this.frames)]];
    element(id).innerHTML = all.map(([name, value]) => `<span>${name} <b>${value}</b></span>`).join("");
  }

  // A control: a wrong setting is said, and the other controls follow.
  on(id, event, change) {
    element(id).addEventListener(event, () =>
      guarded(() => {
        change(element(id));
        this.controls();
      }),
    );
  }

  anew(id, event, change) {
    this.on(id, event, (input) => {
      change(input);
      this.target = 0;
      this.start();
    });
  }
}
