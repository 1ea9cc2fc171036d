// Settings in the address, behind the #: a link shows the same picture.
const address = {
  all: new URLSearchParams(location.hash.slice(1)),
  read() {
    return this.all;
  },
  // The values that are given replace those of their names; null takes a name out. A slider writes often, and browsers allow a
  // hundred changes of the address in half a minute: it follows within half a second, or at once.
  write(values, atOnce) {
    for (const [name, value] of Object.entries(values)) {
      if (value === null) this.all.delete(name);
      else this.all.set(name, value);
    }
    if (atOnce) this.show();
    else this.timer ??= setTimeout(() => this.show(), 500);
  },
  show() {
    clearTimeout(this.timer);
    this.timer = null;
    this.own = "#" + this.all;
    history.replaceState(null, "", this.own);
  },
  // A whole number of the address within bounds, or what is given.
  whole(name, otherwise, least, most) {
    const text = this.read().get(name);
    if (text === null) return otherwise;
    if (!/^\d{1,10}$/.test(text) || +text < least || +text > most) {
      throw new Error(`the address says ${name}=${text}: it must be a whole number from ${least} to ${most}`);
    }
    return +text;
  },
  number(name, otherwise, least, most) {
    const text = this.read().get(name);
    if (text === null) return otherwise;
    if (!/^-?\d*\.?\d+$/.test(text) || +text < least || +text > most) {
      throw new Error(`the address says ${name}=${text}: it must be a number from ${least} to ${most}`);
    }
    return +text;
  },
  choice(name, otherwise, choices) {
    const text = this.read().get(name);
    if (text === null) return otherwise;
    if (!choices.includes(text)) throw new Error(`the address says ${name}=${text}: it must be one of ${choices.join(", ")}`);
    return text;
  },
};
