// The language of the map, and its texts.

import { words as english } from "./words/en.js";

const tables = {
  de: () => import("./words/de.js"), es: () => import("./words/es.js"), fr: () => import("./words/fr.js"), it: () => import("./words/it.js"),
  nl: () => import("./words/nl.js"), pl: () => import("./words/pl.js"), pt: () => import("./words/pt.js"),
};
const loaded = { en: english };
const wait = 5000; // ms, at most, for a table: the map can be used without it

const keyOf = (tag) => tag.split("-")[0].toLowerCase();
const isKnown = (tag) => Object.hasOwn(tables, keyOf(tag)) || keyOf(tag) === "en";

/** languageOf is the language of an element: that of the nearest attribute lang or, without one, the first of the browser's that has a table. */
export function languageOf(element) {
  for (let at = element; at !== undefined; at = at.getRootNode().host) {
    const tag = at.closest('[lang]:not([lang=""])')?.lang;
    if (tag !== undefined) return tag;
  }
  return navigator.languages.find(isKnown) ?? navigator.language;
}

/** wordsOf are the texts of a language, or a promise of them: English if it has no table, or if that can't be loaded. */
export function wordsOf(tag) {
  const key = keyOf(tag);
  if (Object.hasOwn(loaded, key)) return loaded[key];
  if (!isKnown(tag)) return english;
  const late = new Promise((resolve) => { setTimeout(resolve, wait, english); });
  return Promise.race([tables[key]().then(({ words }) => (loaded[key] = words), () => english), late]);
}
