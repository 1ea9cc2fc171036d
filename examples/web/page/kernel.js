// The kernel's module, and what is read from its memory.
const element = (id) => document.getElementById(id);

async function unpacked(id) {
  const text = atob(element(id).textContent.replace(/\s/g, ""));
  element(id).remove();
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A module of one function that makes a vector and takes it apart: valid where the browser has SIMD.
const withVectors = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

const kernel = {
  async load() {
    const asked = address.choice("simd", "1", ["0", "1"]) === "1";
    this.simd = asked && WebAssembly.validate(withVectors);
    const { instance } = await WebAssembly.instantiate(await unpacked(this.simd ? "wasm-simd" : "wasm-plain"), {});
    this.calls = instance.exports;
  },
  words(at, count) {
    return new Uint32Array(this.calls.memory.buffer, at, count);
  },
  text() {
    const bytes = new Uint8Array(this.calls.memory.buffer, this.calls.text_at(), this.calls.text_length());
    return new TextDecoder().decode(bytes);
  },
  // A call that gives 1, or 0 and a reason.
  must(name, ...values) {
    if (this.calls[name](...values) !== 1) throw new Error(this.text());
  },
};
