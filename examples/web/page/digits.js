// Digits: nine chains, and a pad on which half of one is drawn.
const side = 28;
class Digits extends Part {
  count = 9;

  async load() {
    const bytes = await unpacked("rbm");
    // Behind the model stand samples of it, 98 bytes each.
    const model = bytes.length - 98 * 20;
    const at = kernel.calls.bytes(model); // which may give the memory another buffer
    new Uint8Array(kernel.calls.memory.buffer, at, model).set(bytes.subarray(0, model));
    kernel.must("digits_model");
    this.samples = Array.from({ length: 20 }, (_, i) => bytes.slice(model + 98 * i, model + 98 * (i + 1)));
  }

  read() {
    this.sampler = address.choice("digit-sampler", "gibbs", ["gibbs", "dmala"]);
    this.half = address.choice("half", "upper", ["upper", "left"]);
    this.seed = address.whole("digit-seed", 1, 0, 4294967295);
    this.readStep("digit-at", 1000000);
    this.drawn = new Uint32Array(25);
    const text = address.read().get("drawn");
    if (text === null) return;
    if (!/^[A-Za-z0-9_-]{131}$/.test(text)) throw new Error("the address has a drawing that is not 98 bytes in base64url");
    this.take(Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0)));
  }

  take(bytes) {
    const whole = new Uint8Array(100);
    whole.set(bytes);
    const words = new Uint32Array(whole.buffer);
    this.drawn = words.map((word, index) => word & this.mask(index));
  }

  inHalf(x, y) {
    return this.half === "upper" ? y < side / 2 : x < side / 2;
  }

  // The held pixels of a word: the half that is drawn.
  mask(index) {
    let mask = 0;
    for (let bit = 0; bit < 32; bit++) {
      const site = 32 * index + bit;
      if (site < side * side && this.inHalf(site % side, Math.floor(site / side))) mask |= 1 << bit;
    }
    return mask >>> 0;
  }

  held() {
    return this.drawn.some((word) => word !== 0);
  }

  // From noise. Until something is drawn, no pixel is held.
  start() {
    const held = kernel.words(kernel.calls.digits_held(), 50);
    for (let index = 0; index < 25; index++) held[index] = this.held() ? this.mask(index) : 0;
    held.set(this.drawn, 25);
    kernel.must("digits_start", this.count, this.seed, this.sampler === "gibbs" ? 0 : 1);
    this.at = 0;
    this.updates.reset();
    this.save(false);
    this.show();
  }

  save(picture) {
    const bytes = String.fromCharCode(...new Uint8Array(this.drawn.buffer).subarray(0, 98));
    const drawn = btoa(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
    address.write({
      "digit-sampler": this.sampler, half: this.half, "digit-seed": this.seed,
      drawn: this.held() ? drawn : null, "digit-at": picture ? this.at : null,
    }, picture);
  }

  run(steps) {
    this.timed("digits_run", steps, this.count * side * side);
  }

  each() {
    return 1;
  }

  show() {
    const pixels = side * side;
    this.pictures.forEach((picture, chain) => {
      const words = kernel.words(kernel.calls.digits_words(chain), 25);
      for (let site = 0; site < pixels; site++) {
        const on = (words[site >> 5] >>> (site & 31)) & 1;
        const held = this.held() && this.inHalf(site % side, Math.floor(site / side));
        picture.pixels[site] = on ? (held ? colours.ink : colours.accent) : colours.down;
      }
      picture.show();
    });
    this.numbers("digit-numbers", [], "million pixel updates a second");
    element("digits").dataset.at = this.at;
  }

  controls() {
    element("digit-sampler").value = this.sampler;
    element("half").value = this.half;
    element("digit-seed").value = this.seed;
    element("digit-pause").textContent = this.playing ? "Pause" : "Run";
    element("half-mark").className = `half ${this.half}`;
    element("pad-hint").textContent = this.held()
      ? "Blue is drawn by the chain. The rest is yours, clamped."
      : `Draw in the ${this.half} half, with a finger or the mouse. Until then all pixels are free.`;
  }

  // A stroke from one place to another, as wide as those of the digits.
  stroke([x0, y0], [x1, y1]) {
    const parts = Math.ceil(4 * Math.hypot(x1 - x0, y1 - y0)) + 1;
    for (let part = 0; part <= parts; part++) {
      const [x, y] = [x0 + ((x1 - x0) * part) / parts, y0 + ((y1 - y0) * part) / parts];
      for (let row = Math.floor(y - 2); row <= y + 2; row++) {
        for (let column = Math.floor(x - 2); column <= x + 2; column++) {
          const near = Math.hypot(column + 0.5 - x, row + 0.5 - y) < 1.25;
          const inside = row >= 0 && column >= 0 && row < side && column < side && this.inHalf(column, row);
          if (near && inside) this.drawn[(side * row + column) >> 5] |= 1 << ((side * row + column) & 31);
        }
      }
    }
  }

  listen() {
    this.anew("digit-sampler", "change", (input) => (this.sampler = input.value));
    this.anew("digit-seed", "change", (input) => (this.seed = seedOf(input.value)));
    this.anew("half", "change", (input) => {
      this.half = input.value;
      this.drawn.fill(0);
    });
    this.anew("clear", "click", () => this.drawn.fill(0));
    this.anew("digit-restart", "click", () => {});
    let next = 0;
    this.anew("sample", "click", () => this.take(this.samples[next++ % this.samples.length]));
    element("digit-pause").addEventListener("click", () => this.play(!this.playing));
    element("digit-link").addEventListener("click", () => {
      this.play(false);
      element("pad-hint").textContent = "The address bar has the link to these very digits.";
      copied("pad-hint");
    });

    const pad = element("pad");
    let last = null;
    const place = (event) => {
      const box = pad.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * side, ((event.clientY - box.top) / box.height) * side];
    };
    const draw = (event) => {
      const here = place(event);
      this.stroke(last ?? here, here);
      last = here;
      this.target = 0;
      this.start();
      this.controls();
    };
    pad.addEventListener("pointerdown", (event) => {
      pad.setPointerCapture(event.pointerId);
      if (!this.playing) this.play(true);
      guarded(() => draw(event));
    });
    pad.addEventListener("pointermove", (event) => last && guarded(() => draw(event)));
    for (const end of ["pointerup", "pointercancel"]) pad.addEventListener(end, () => (last = null));
  }

  async begin() {
    await this.load();
    const others = Array.from({ length: this.count - 1 }, () => element("others").appendChild(document.createElement("canvas")));
    others.forEach((canvas, index) => canvas.setAttribute("aria-label", `Chain ${index + 2}`));
    this.pictures = [element("pad"), ...others].map((canvas) => new Picture(canvas, side, side));
    this.read();
    this.start();
    this.controls();
  }
}

const digits = new Digits();
