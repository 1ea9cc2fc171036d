// Committed chains, run here.
function hashes() {
  const { calls } = kernel;
  const hex = (value) => (value >>> 0).toString(16).padStart(8, "0");
  let equal = 0;
  const count = calls.committed_count(0);
  for (let index = 0; index < count; index++) {
    calls.committed_count(index);
    const name = kernel.text();
    const [here, committed] = [calls.committed_run(index), calls.committed_hash(index)];
    if (here === committed) equal++;
    const row = element("hashes").insertRow();
    for (const text of [name, hex(here), hex(committed), here === committed ? "yes" : "no"]) row.insertCell().textContent = text;
    row.lastChild.className = here === committed ? "good" : "bad";
  }
  const same = equal === count;
  element("same-bits").textContent = `same bits as a Cortex-M0: ${same ? "yes" : "no"}`;
  element("same-bits").className = same ? "good" : "bad";
  if (!same) console.error(`${count - equal} of ${count} chains have other bits than committed`);
}
