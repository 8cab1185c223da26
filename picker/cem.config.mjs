// How the analyzer makes custom-elements.json of the element's source.

// publicOnly keeps the element, and of it what its JSDoc documents.
const publicOnly = {
  name: "public-only",
  packageLinkPhase({ customElementsManifest }) {
    for (const module of customElementsManifest.modules) {
      module.declarations = module.declarations.filter((declaration) => declaration.customElement);
      for (const element of module.declarations) {
        for (const kind of ["members", "events"]) element[kind] = element[kind].filter((one) => one.description !== undefined && one.privacy !== "private");
      }
    }
  },
};

export default { globs: ["src/element.js"], outdir: ".", packagejson: false, plugins: [publicOnly] };
