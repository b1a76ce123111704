/** Markdown as safe HTML: headings with anchors, links within the documentation, tables and code that scroll. */
import { Marked, type Token, type Tokens } from 'marked'
import { escapeHtml } from '../../lib/escape-html.ts'
import { highlight } from './highlight.ts'

export interface Heading {
  readonly id: string
  readonly text: string
  readonly depth: number
}

/** What stands under a heading, as plain text, for the search. */
export interface TextSection {
  readonly heading: Heading
  readonly text: string
}

/** The URL for a target in the text; undefined where nothing is served: then the text stays without a link. */
export type ResolveLink = (target: string) => string | undefined

export interface ParsedPage {
  readonly tokens: readonly Token[]
  readonly headings: readonly Heading[]
  readonly title: string
}

const DEEPEST_SECTION = 3
const LONGEST_WHOLE = 40

export function parseMarkdown(text: string): ParsedPage {
  const tokens = new Marked({ gfm: true }).lexer(text)
  const used = new Map<string, number>()
  const headings = tokens
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map((token) => ({ id: createAnchor(plainText(token), used), text: plainText(token), depth: token.depth }))
  return { tokens, headings, title: headings[0]?.text ?? '' }
}

/** The sections of a page, each up to the next heading. */
export function splitSections({ tokens, headings, title }: ParsedPage): TextSection[] {
  const sections: { heading: Heading; parts: string[] }[] = []
  let at = 0
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = headings[at++] ?? { id: '', text: title, depth: 1 }
      if (heading.depth <= DEEPEST_SECTION) sections.push({ heading, parts: [] })
      else sections.at(-1)?.parts.push(heading.text)
    } else if (token.type !== 'html') sections.at(-1)?.parts.push(plainText(token))
  }
  return sections.map(({ heading, parts }) => ({ heading, text: parts.join(' ').replace(/\s+/g, ' ').trim() }))
}

/** The pages are in English, and so are the labels of what is added to them. */
export function renderMarkdown({ tokens, headings }: ParsedPage, link: ResolveLink): string {
  let at = 0
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading(token) {
        const { id, text } = headings[at++] ?? { id: '', text: '' }
        const content = this.parser.parseInline(token.tokens)
        if (token.depth === 1) return `<h1 id="${escapeHtml(id)}">${content}</h1>\n`
        const anchor = `<a class="anchor" href="#${escapeHtml(id)}" aria-label="Link to ${escapeHtml(text)}">#</a>`
        return `<h${token.depth} id="${escapeHtml(id)}">${content} ${anchor}</h${token.depth}>\n`
      },
      link(token) {
        const content = this.parser.parseInline(token.tokens)
        const url = link(token.href)
        if (url === undefined) return `<span title="${escapeHtml(token.href)}">${content}</span>`
        const isElsewhere = /^https?:/.test(url)
        return `<a href="${escapeHtml(url)}"${isElsewhere ? ' rel="noreferrer"' : ''}>${content}</a>`
      },
      image({ href, text }) {
        const url = link(href)
        if (url === undefined) return escapeHtml(text)
        // On a phone, the details of a picture are visible only if it is opened separately.
        return `<a href="${escapeHtml(url)}"><img src="${escapeHtml(url)}" alt="${escapeHtml(text)}"></a>`
      },
      // In a table, short names are not broken.
      codespan: ({ text }) => `<code${text.length <= LONGEST_WHOLE ? ' class="whole"' : ''}>${escapeHtml(text)}</code>`,
      table(token) {
        const row = (cells: readonly Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>\n`
        const body = token.rows.map((cells) => row(cells, 'td')).join('')
        // A header cell without a text names nothing.
        const head = row(token.header, 'th').replaceAll('<th></th>', '<td></td>')
        const table = `<table>${head.includes('<th>') ? `<thead>${head}</thead>` : ''}<tbody>\n${body}</tbody></table>`
        return `<div class="scrolls" role="group" tabindex="0" aria-label="Table">${table}</div>\n`
      },
      code({ text, lang = '' }) {
        const code = highlight(text, lang.split(' ', 1)[0] ?? '')
        return `<div class="block"><pre class="scrolls" role="group" tabindex="0" aria-label="Code"><code>${code}\n</code></pre></div>\n`
      },
      // Comments disappear, line breaks are kept, and anything else is text.
      html: ({ text }) =>
        /^<!--[\s\S]*-->\s*$/.test(text) ? '' : /^<br ?\/?>$/.test(text) ? '<br>' : escapeHtml(text),
    },
  })
  return marked.parser([...tokens])
}

/** As GitHub makes them, since the pages link each other by those. */
function createAnchor(text: string, used: Map<string, number>): string {
  const id = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
  const count = used.get(id) ?? 0
  used.set(id, count + 1)
  return count === 0 ? id : `${id}-${count}`
}

function plainText(token: Token): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    return [header, ...rows].map((cells) => cells.map((cell) => joinPlain(cell.tokens)).join(' ')).join(' ')
  }
  if (token.type === 'list') return (token as Tokens.List).items.map((item) => joinPlain(item.tokens)).join(' ')
  if ('tokens' in token && token.tokens !== undefined) return joinPlain(token.tokens)
  return token.type === 'html' || !('text' in token) ? ' ' : String(token.text)
}

function joinPlain(tokens: readonly Token[]): string {
  return tokens.map(plainText).join('')
}
