// The seats that are not available, and the number of available seats of each section. It knows no customer: seats that the
// customer holds are taken here, too.

export class Seats {
  constructor(hall) {
    this.hall = hall;
    this.taken = new Uint8Array(hall.seats);
    this.available = hall.sections.map((s) => s.capacity || s.end - s.first);
    this.revisions = hall.sections.map(() => -1); // of the event, when the seats of a section were read
    this.stale = new Set(); // numbers of sections whose count has changed since their seats were read
  }

  /**
   * setBitmap sets the seats of a section at a revision, base64 with one bit for each seat. It returns the seats that changed;
   * undefined if the bitmap is of another plan.
   */
  setBitmap(section, bitmap, revision) {
    const bytes = atob(bitmap);
    const changed = [];
    if (bytes.length !== Math.ceil((section.end - section.first) / 8)) return undefined;
    if (revision < this.revisions[section.number]) return changed; // a late answer
    this.revisions[section.number] = revision;
    for (let i = section.first, n = 0; i < section.end; i++, n++) {
      const taken = (bytes.charCodeAt(n >> 3) >> (7 - (n & 7))) & 1;
      if (this.taken[i] !== taken) changed.push(i);
      this.taken[i] = taken;
    }
    this.stale.delete(section.number);
    return changed;
  }

  /** setTaken sets seats by their IDs as taken or free. It returns the seats that changed. */
  setTaken(ids, taken) {
    const changed = [];
    for (const id of ids) {
      const i = this.hall.byID.get(id);
      if (i === undefined || this.taken[i] === taken) continue;
      this.taken[i] = taken;
      changed.push(i);
    }
    return changed;
  }

  /** setAvailable sets the count of a section, and returns whether it changed. */
  setAvailable(section, available) {
    if (this.available[section.number] === available) return false;
    this.available[section.number] = available;
    this.stale.add(section.number);
    return true;
  }

  /** byCategory counts the available seats. */
  byCategory() {
    const free = this.hall.categories.map(() => 0);
    for (const s of this.hall.sections) {
      if (s.categories.length === 1) {
        free[s.categories[0]] += this.available[s.number];
        continue;
      }
      for (let i = s.first; i < s.end; i++) if (!this.taken[i]) free[this.hall.category[i]]++;
    }
    return free;
  }
}
