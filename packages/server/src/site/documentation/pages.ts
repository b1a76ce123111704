/** The HTML of the documentation: a page with its navigation, and the results of a search. */

import { VERSION } from 'gatehouse-protocol'
import { Html, html, icon, type PageFrame, sitePage } from '../../identity/page-parts.ts'
import { type Chapter, type DocumentationPage, pageAddress } from './library.ts'
import type { Found, Hit } from './search.ts'

const MOST_QUERY = 200

export function documentationPage(frame: PageFrame, page: DocumentationPage, chapters: readonly Chapter[]): Html {
  const { messages } = frame.language
  const body = html`<main class="content" id="content">
<article class="article" lang="en">${new Html(page.html)}</article>
${neighbours(frame, page.slug, chapters)}
<p class="foot">${messages.documentationTitle(VERSION)}</p>
</main>
${tableOfContents(frame, page)}`
  return documentationFrame(frame, { title: page.title, slug: page.slug, chapters, query: '', body })
}

export function searchPage(frame: PageFrame, query: string, found: Found, chapters: readonly Chapter[]): Html {
  const { base, language } = frame
  const { messages } = language
  const { hits, count, suggestion } = found
  const again = suggestion === undefined ? undefined : `${base}/docs/search?q=${encodeURIComponent(suggestion)}`
  const body = html`<main class="content" id="content">
<h1>${query === '' ? messages.search : messages.searchResults(query)}</h1>
<p class="lead" id="count">${query === '' ? messages.searchHint : messages.searchCount(count)}</p>
${again !== undefined && html`<p>${messages.didYouMean} <a href="${again}">${suggestion}</a></p>`}
<ol class="hits" lang="en">${hits.map(hitEntry)}</ol>
${count > hits.length && html`<p class="quiet">${messages.searchMore(hits.length)}</p>`}
</main>`
  return documentationFrame(frame, { title: messages.search, slug: undefined, chapters, query, body })
}

function hitEntry({ url, page, heading, extract }: Hit): Html {
  const pieces = extract.map(({ text, isMarked }) => (isMarked ? html`<mark>${text}</mark>` : html`${text}`))
  return html`<li><a href="${url}"><strong>${heading ?? page}</strong>${heading !== undefined && html` <span>${page}</span>`}</a><p>${pieces}</p></li>`
}

interface FrameParts {
  readonly title: string
  readonly slug: string | undefined
  readonly chapters: readonly Chapter[]
  readonly query: string
  readonly body: Html
}

function documentationFrame(frame: PageFrame, { title, slug, chapters, query, body }: FrameParts): Html {
  const { base, language, assets } = frame
  const { messages } = language
  const tools = html`<form class="search" role="search" action="${base}/docs/search" data-none="${messages.searchNone}" data-all="${messages.searchAll}">
${icon('search')}<input id="docs-q" name="q" type="search" value="${query}" maxlength="${MOST_QUERY}" autocomplete="off" spellcheck="false" placeholder="${messages.search}" aria-label="${messages.search}">
<div class="found" id="docs-results" hidden></div><p class="visually-hidden" role="status" id="docs-count"></p></form>`
  const navigation = chapters.map(
    (chapter) =>
      html`<h2 lang="en">${chapter.title}</h2><ul lang="en">${chapter.entries.map((entry) => html`<li><a href="${pageAddress(base, entry.slug)}"${isWithin(slug, entry.slug) && html` aria-current="page"`}>${entry.title}</a></li>`)}</ul>`,
  )
  return sitePage(frame, {
    title: title === messages.place.documentation ? title : `${title} · ${messages.place.documentation}`,
    place: 'documentation',
    tools,
    head: html`<link rel="stylesheet" href="${assets.documentationStylesheet}">\n`,
    scripts: [assets.documentationScript],
    body: html`<div class="columns documentation" data-copy="${messages.copy}" data-copied="${messages.copied}">
<button type="button" class="plain small contents" popovertarget="docs-navigation">${messages.contents}</button>
<nav class="side" id="docs-navigation" popover aria-label="${messages.place.documentation}">
<ul><li><a href="${base}/docs"${slug === '' && html` aria-current="page"`}>${messages.overview}</a></li></ul>
${navigation}</nav>
${body}</div>`,
  })
}

/** A page in a folder belongs to the entry of the folder. */
function isWithin(slug: string | undefined, entry: string): boolean {
  return slug === entry || (slug?.startsWith(`${entry}/`) ?? false)
}

/** Undefined where a page is too short to need one. */
function tableOfContents({ language }: PageFrame, { headings }: DocumentationPage): Html | undefined {
  const parts = headings.filter(({ depth }) => depth === 2)
  if (parts.length < 3) return undefined
  return html`<nav class="toc" aria-labelledby="toc-title"><h2 id="toc-title">${language.messages.onThisPage}</h2>
<ul lang="en">${parts.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}</ul></nav>`
}

/** The pages before and after this one, in the order of the navigation. */
function neighbours({ base, language }: PageFrame, slug: string, chapters: readonly Chapter[]): Html | undefined {
  const all = chapters.flatMap(({ entries }) => entries)
  const at = all.findIndex((entry) => entry.slug === slug)
  if (at < 0) return undefined
  const { messages } = language
  const link = (entry: (typeof all)[number] | undefined, label: string, rel: string) =>
    entry !== undefined &&
    html`<a class="${rel}" rel="${rel}" href="${pageAddress(base, entry.slug)}"><span>${label}</span><strong lang="en">${entry.title}</strong></a>`
  return html`<nav class="neighbours" aria-label="${messages.neighbours}">${link(all[at - 1], messages.previous, 'prev')}${link(all[at + 1], messages.next, 'next')}</nav>`
}
