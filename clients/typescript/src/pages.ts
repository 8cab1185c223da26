// Lists, page after page.

/** Page is an answer of a list. */
export interface Page<T> {
  items: T[];
  /** nextPageToken is "" on the last page. Changes have one there too, from which to continue later. */
  nextPageToken: string;
}

/** maxPageSize is the largest number of items that the API returns at once, and the default. */
export const maxPageSize = 500;

/** List iterates over the items of a list, and reads page after page. An error ends the iteration. */
export class List<T> implements AsyncIterable<T> {
  readonly #read: (pageToken: string | undefined) => Promise<Page<T>>;
  readonly #from: string | undefined;

  constructor(read: (pageToken: string | undefined) => Promise<Page<T>>, from?: string) {
    this.#read = read;
    this.#from = from;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    for await (const page of this.pages()) yield* page.items;
  }

  /** pages iterates over the pages, so that their tokens can be kept. It ends when the token is "" or stays the same. */
  async *pages(): AsyncGenerator<Page<T>, void, void> {
    let token = this.#from;
    for (;;) {
      const page = await this.#read(token);
      yield page;
      if (page.nextPageToken === "" || page.nextPageToken === token) return;
      token = page.nextPageToken;
    }
  }

  /** toArray reads the whole list. */
  async toArray(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}
