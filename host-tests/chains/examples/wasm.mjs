// Runs every chain of a wasm module and compares its hash:   node wasm.mjs wasm.wasm
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const { hash, committed, memory } = instance.exports;
// The stack is the first MiB, and grows downwards: what a run has used of it has lost its paint.
const [room, paint] = [1 << 20, 0xa5];
new Uint8Array(memory.buffer).fill(paint, 0, room);
let [count, wrong, total] = [0, 0, 0x811c9dc5];
while (committed(count) !== 0) {
  const value = hash(count) >>> 0;
  if (value !== committed(count) >>> 0) {
    wrong += 1;
    console.log(`${value.toString(16).padStart(8, "0")}  DIFFERS  chain ${count}`);
  }
  total = Math.imul(((total << 5) | (total >>> 27)) ^ value, 0x9e3779b1);
  count += 1;
}
const stack = room - new Uint8Array(memory.buffer).findIndex((byte) => byte !== paint);
console.log(`hash ${(total >>> 0).toString(16).padStart(8, "0")}, ${count} chains, ${wrong} differ, stack ${stack}`);
process.exitCode = count > 0 && wrong === 0 ? 0 : 1;
