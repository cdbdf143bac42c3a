// Browsers start no workers from files. Where the site is opened as a file, this stands in for the worker of MkDocs'
// search: it takes the same messages, and reads index and library as scripts at the first question.
if (location.protocol === "file:") {
  const script = (path) =>
    new Promise((done, failed) => {
      const element = document.createElement("script");
      Object.assign(element, { src: new URL(path, here), onload: done, onerror: failed });
      document.head.append(element);
    });
  const here = new URL("search/", document.currentScript.src);

  const load = async () => {
    await script("search_index.js");
    await script("lunr.js");
    const { config, docs } = window.searchIndex;
    lunr.tokenizer.separator = new RegExp(config.separator);
    const pages = new Map(docs.map((page) => [page.location, page]));
    const index = lunr(function () {
      this.ref("location");
      this.field("title");
      this.field("text");
      docs.forEach((page) => this.add(page));
    });
    return (query) =>
      index.search(query).map(({ ref }) => ({ ...pages.get(ref), summary: pages.get(ref).text.slice(0, 200) }));
  };

  window.Worker = class {
    constructor() {
      this.loaded = null;
    }
    async postMessage({ init, query }) {
      if (init) {
        await null; // the caller says only now where answers go
        this.onmessage({ data: { config: { min_search_length: 3 } } });
        this.onmessage({ data: { allowSearch: true } });
        return;
      }
      this.loaded ??= load();
      const search = await this.loaded;
      this.onmessage({ data: { results: search(query) } });
    }
  };
}
