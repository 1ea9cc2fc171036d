// Bits as pixels of a canvas: sites 32 a word, row by row, each in one of two colours.
class Picture {
  constructor(canvas, width, height) {
    [canvas.width, canvas.height] = [width, height];
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }
  draw(words, off, on) {
    const pixels = this.pixels;
    for (let index = 0, at = 0; at < pixels.length; index++) {
      const end = Math.min(at + 32, pixels.length);
      for (let word = words[index]; at < end; word >>>= 1) pixels[at++] = word & 1 ? on : off;
    }
    this.show();
  }
  show() {
    this.context.putImageData(this.image, 0, 0);
  }
}

// The colours of the page as pixels, in the order of bytes that an image has.
const colours = {
  read() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["up", "down", "accent", "ink"]) {
      const [r, g, b] = style.getPropertyValue(`--${name}`).trim().match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16));
      this[name] = new Uint32Array(new Uint8Array([r, g, b, 255]).buffer)[0];
    }
    // From the ground to the accent in 64 shades.
    const bytes = (colour) => new Uint8Array(new Uint32Array([colour]).buffer);
    const [from, to] = [bytes(this.down), bytes(this.accent)];
    const shade = (step) => from.map((part, at) => Math.round(part + ((to[at] - part) * step) / 63));
    this.ramp = Uint32Array.from({ length: 64 }, (_, step) => new Uint32Array(shade(step).buffer)[0]);
  },
};

// The rate of something, over about half a second of frames.
class Meter {
  constructor() {
    this.reset();
  }
  reset() {
    [this.value, this.amount, this.time, this.count] = [NaN, 0, 0, 0];
  }
  add(amount, milliseconds) {
    this.amount += amount;
    this.time += milliseconds;
    if (++this.count < 30) return;
    this.value = (1000 * this.amount) / this.time;
    [this.amount, this.time, this.count] = [0, 0, 0];
  }
  text(unit = 1) {
    const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
    return Number.isFinite(this.value) ? format.format(this.value / unit) : "…";
  }
}
