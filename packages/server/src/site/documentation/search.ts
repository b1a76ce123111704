/** Searches the documentation by words and their beginnings; the index is made by the first search and kept. */
import { nearest } from 'gatehouse-protocol'
import { lazily } from '../../lib/once.ts'
import { type Library, pageAddress } from './library.ts'

export interface Hit {
  readonly url: string
  readonly page: string
  /** Undefined for the beginning of a page. */
  readonly heading: string | undefined
  readonly extract: readonly Piece[]
}

/** A piece of text; the words that were searched for are marked. */
type Piece = { readonly text: string; readonly isMarked: boolean }

export interface Found {
  readonly hits: readonly Hit[]
  /** How many there are in all; the first are listed. */
  readonly count: number
  /** The nearest known words, where nothing was found. */
  readonly suggestion: string | undefined
}

const MOST_HITS = 30
const MOST_WORDS = 8
const LONGEST_QUERY = 200
const EXTRACT_LENGTH = 180

interface Entry extends Omit<Hit, 'extract'> {
  readonly text: string
  readonly lowerTitle: string
  /** With the beginnings of words marked. */
  readonly markedTitle: string
  readonly markedText: string
  /** Pages that readers rarely look for come later, and the changelog, which has all words, last. */
  readonly rank: 'guide' | 'background' | 'changelog'
}

/** About how the product is made. */
const BACKGROUND = /^(code-map|conformance|decisions)(\/|$)/

export function createSearch(library: Library, base: string): (words: string) => Promise<Found> {
  const index = lazily(() => createIndex(library, base))
  return async (words) => find(queryWords(words), await index())
}

interface Index {
  readonly entries: readonly Entry[]
  /** The words of the titles, for suggestions. */
  readonly known: ReadonlySet<string>
}

async function createIndex(library: Library, base: string): Promise<Index> {
  const entries: Entry[] = []
  for await (const { page, sections } of library.sections()) {
    for (const { heading, text } of sections) {
      const isPage = heading.depth === 1
      const lowerTitle = `${page.title} ${isPage ? '' : heading.text}`.toLowerCase()
      entries.push({
        url: pageAddress(base, page.slug, isPage ? undefined : heading.id),
        page: page.title,
        heading: isPage ? undefined : heading.text,
        text,
        lowerTitle,
        markedTitle: markWords(lowerTitle),
        markedText: markWords(text.toLowerCase()),
        rank: page.slug === 'changelog' ? 'changelog' : BACKGROUND.test(page.slug) ? 'background' : 'guide',
      })
    }
    // Other requests are served between two pages.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { entries, known: new Set(entries.flatMap(({ lowerTitle }) => queryWords(lowerTitle))) }
}

/** Names such as `http.not_found`, `--port` and `/connect/token` are one word each. */
const WORD = /[\p{L}\p{N}_]+(?:[./-]+[\p{L}\p{N}_]+)*/gu

function queryWords(text: string): string[] {
  const words = text.slice(0, LONGEST_QUERY).toLowerCase().match(WORD) ?? []
  return [...new Set(words)].slice(0, MOST_WORDS)
}

/** All words must occur in a section or its title. */
function find(words: readonly string[], index: Index): Found {
  if (words.length === 0) return { hits: [], count: 0, suggestion: undefined }
  const marked = words.map(markWords)
  const matches = index.entries
    .map((entry) => ({ entry, score: scoreEntry(entry, words, marked) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => Number(isLast(a.entry)) - Number(isLast(b.entry)) || b.score - a.score)
  const hits = matches.slice(0, MOST_HITS).map(({ entry }) => {
    const { url, page, heading } = entry
    return { url, page, heading, extract: cutExtract(entry, words) }
  })
  return { hits, count: matches.length, suggestion: matches.length > 0 ? undefined : suggest(words, index) }
}

function isLast({ rank }: Entry): boolean {
  return rank === 'changelog'
}

const TITLE_WEIGHT = 20
/** For all words next to each other, in this order: in a long section they are often far apart. */
const PHRASE_WEIGHT = 10
/** Sections that repeat a word are not better without end. */
const MOST_REPETITIONS = 5

function scoreEntry(entry: Entry, words: readonly string[], marked: readonly string[]): number {
  const { markedTitle, markedText, lowerTitle, heading, rank } = entry
  let score = 0
  for (const word of marked) {
    const isInTitle = markedTitle.includes(word)
    const inText = countOccurrences(markedText, word)
    if (!isInTitle && inText === 0) return 0
    score += (isInTitle ? TITLE_WEIGHT : 0) + inText
  }
  const phrase = marked.join(' ')
  if (marked.length > 1)
    score += (markedTitle.includes(phrase) ? TITLE_WEIGHT : 0) + (markedText.includes(phrase) ? PHRASE_WEIGHT : 0)
  const isExact = lowerTitle.trim() === words.join(' ') || heading?.toLowerCase() === words.join(' ')
  return score * (isExact ? 2 : 1) * (rank === 'background' ? 0.4 : 1)
}

const WORD_START = '\u0001'

/** Marks where words begin, inside names such as `refresh_token` too: one look for a marked word then finds only those. */
function markWords(text: string): string {
  return text.replace(/(?<![\p{L}\p{N}])(?=[\p{L}\p{N}_])/gu, WORD_START)
}

function countOccurrences(text: string, word: string): number {
  let count = 0
  for (let at = text.indexOf(word); at >= 0 && count < MOST_REPETITIONS; at = text.indexOf(word, at + word.length))
    count++
  return count
}

function cutExtract({ text }: Entry, words: readonly string[]): Piece[] {
  const lowerText = text.toLowerCase()
  const first = Math.min(...words.map((word) => lowerText.indexOf(word)).filter((at) => at >= 0))
  const wanted = Number.isFinite(first) ? Math.max(0, first - EXTRACT_LENGTH / 3) : 0
  const start = wanted === 0 ? 0 : text.indexOf(' ', wanted) + 1
  const end = text.length <= start + EXTRACT_LENGTH ? text.length : text.lastIndexOf(' ', start + EXTRACT_LENGTH)
  const shown = text.slice(start, Math.max(end, start))
  const pattern = new RegExp(`(${words.map((word) => RegExp.escape(word)).join('|')})`, 'gi')
  const pieces = shown.split(pattern).map((piece, index) => ({ text: piece, isMarked: index % 2 === 1 }))
  return [
    ...(start > 0 ? [{ text: '… ', isMarked: false }] : []),
    ...pieces.filter((piece) => piece.text !== ''),
    ...(end < text.length ? [{ text: ' …', isMarked: false }] : []),
  ]
}

/** More words, and longer ones, are not worth the comparisons. */
const MOST_REPLACED = 3
const LONGEST_REPLACED = 24

/** The query with each unknown word replaced by the nearest word of a title. */
function suggest(words: readonly string[], index: Index): string | undefined {
  if (words.length > MOST_REPLACED || words.some((word) => word.length > LONGEST_REPLACED)) return undefined
  const { known } = index
  const replaced = words.map((word) => (known.has(word) ? word : (nearest(word, known) ?? word)))
  const suggestion = replaced.join(' ')
  return suggestion === words.join(' ') || find(replaced, index).count === 0 ? undefined : suggestion
}
