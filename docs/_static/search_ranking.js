/* Rank the pages that a search finds by how much they are about its words (BM25); the weights are
   counted in docs/_ext/search_index.py. Loaded after Sphinx's searchtools.js, which keeps the query
   and shows the results. */
"use strict";

const Ranking = {
  SATURATION: 8, // k1 of BM25: how much the tenth mention still adds; titles alone count 20
  LENGTH: 0.6, // b of BM25: how much a long page must mention a word more often
  REQUIRED: 0.15, // the part of the query, by how telling its words are, that a page must have
  HEADING: 0.5, // the part of it that a heading must have for the result to lead there
  KEYWORD: 40, // what a word counts that readers type for the page: twice one of its title
  PREFIX: 0.5, // what a word counts that only begins like the query's

  /* The pages of a term, as a Map of page number -> weight. */
  pages(index, term) {
    const found = new Map();
    const add = (flat, share) => {
      for (let i = 0; i < flat.length; i += 2)
        found.set(flat[i], (found.get(flat[i]) || 0) + flat[i + 1] * share);
    };
    const typed = Object.hasOwn(index.keywords, term) ? index.keywords[term] : [];
    for (const page of typed) found.set(page, this.KEYWORD);
    if (Object.hasOwn(index.weights, term)) add(index.weights[term], 1);
    else if (typed.length) return found;
    else if (/^[\u3400-\u9fff]$/.test(term) || term.length > 2) {
      const han = term.length === 1;
      for (const [other, flat] of Object.entries(index.weights))
        if (han ? other.includes(term) : other.startsWith(term)) add(flat, this.PREFIX);
    }
    return found;
  },

  /* How telling a term is that so many of all pages have. */
  telling: (pages, all) => Math.log(1 + (all - pages + 0.5) / (pages + 0.5)),

  /* The heading of each page that has most of the query, as a Map of page number -> [title, id]. */
  headings(index, weights, wanted) {
    const best = new Map();
    for (const [title, places] of Object.entries(index.alltitles)) {
      let has = 0;
      for (const term of this.stems(title)) has += weights.get(term) || 0;
      if (has < wanted) continue;
      for (const [page, id] of places)
        if (id !== null && has > (best.get(page) || [0])[0]) best.set(page, [has, title, id]);
    }
    return best;
  },

  stems(text) {
    const stemmer = new Stemmer();
    return new Set(splitQuery(text.toLowerCase()).map((word) => stemmer.stemWord(word)));
  },

  /* Sphinx's list of results, the best one last. */
  rank(query, searchTerms) {
    const index = Search._index;
    const all = index.docnames.length;
    const mean = index.lengths.reduce((sum, length) => sum + length, 0) / all || 1;
    const scores = new Map();
    const weights = new Map();
    let whole = 0;
    for (const term of searchTerms) {
      const found = this.pages(index, term);
      if (!found.size) continue;
      const telling = this.telling(found.size, all);
      weights.set(term, telling);
      whole += telling;
      for (const [page, weight] of found) {
        const length = 1 - this.LENGTH + (this.LENGTH * index.lengths[page]) / mean;
        const [score, has] = scores.get(page) || [0, 0];
        const more = (weight * (this.SATURATION + 1)) / (weight + this.SATURATION * length);
        scores.set(page, [score + telling * more, has + telling]);
      }
    }
    const headings = this.headings(index, weights, whole * this.HEADING);
    const results = [];
    for (const [page, [score, has]] of scores) {
      if (has < whole * this.REQUIRED || !index.titles[page]) continue;
      const [, heading, id] = headings.get(page) || [];
      results.push([
        index.docnames[page],
        heading ? `${index.titles[page]} > ${heading}` : index.titles[page],
        heading ? `#${id}` : "",
        null,
        score * (has / whole), // with all the query's words before with many of one of them
        index.filenames[page],
        SearchResultKind.text,
      ]);
    }
    return results.sort((a, b) => a[4] - b[4] || (a[0] < b[0] ? 1 : -1));
  },
};

Search._performSearch = (query, searchTerms) => Ranking.rank(query, searchTerms);
