/** The files of the documentation: read, parsed and rendered when they are first asked for, then kept. */
import { readdir, readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { once } from '../../lib/once.ts'
import { DOCUMENTATION_ROOT, IS_CLONE } from '../../lib/program-files.ts'
import { type ParsedPage, parseMarkdown, renderMarkdown, splitSections, type TextSection } from './markdown.ts'

const FOLDER = 'docs'
const CHANGELOG = 'CHANGELOG.md'

export interface DocumentationPage extends ParsedPage {
  /** The path below /docs; empty for the first page. */
  readonly slug: string
  readonly html: string
}

export interface Picture {
  readonly type: string
  readonly content: Buffer
}

/** A group of the first page, with its entries. */
export interface Chapter {
  readonly title: string
  readonly entries: readonly { readonly slug: string; readonly title: string }[]
}

const FILE_TYPES: ReadonlyMap<string, string> = new Map([
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.json', 'application/json'],
])

/** The address that the files name: that of a demonstration with its default port. In backquotes it is the default itself. */
const WRITTEN_ADDRESS = /(?<!`)http:\/\/localhost:5080\b/g

/** These say what the program assumes, not where this server is. */
const ABOUT_DEFAULTS: ReadonlySet<string> = new Set(['commands', 'settings', 'changelog'])

export class Library {
  readonly #base: string
  readonly #issuer: string
  readonly #listing = once(list)
  readonly #pages = new Map<string, Promise<DocumentationPage>>()

  /** Pages show `issuer` as the address of the server; `base` is its path, which prefixes every link. */
  constructor(base: string, issuer: string) {
    this.#base = base
    this.#issuer = issuer
  }

  /** Undefined if there is no such page. */
  async page(slug: string): Promise<DocumentationPage | undefined> {
    const found = (await this.#listing()).pages.get(slug)
    return found === undefined ? undefined : this.#open(slug, found)
  }

  async file(name: string): Promise<Picture | undefined> {
    const found = (await this.#listing()).files.get(name)
    const type = FILE_TYPES.get(posix.extname(name))
    if (found === undefined || type === undefined) return undefined
    return { type, content: await readFile(new URL(found, DOCUMENTATION_ROOT)) }
  }

  async chapters(): Promise<readonly Chapter[]> {
    const first = await this.page('')
    return first === undefined ? [] : readChapters(first, (await this.#listing()).slugs)
  }

  /** The sections of every page, page by page, so that others are served between them. */
  async *sections(): AsyncGenerator<{ page: DocumentationPage; sections: readonly TextSection[] }> {
    for (const [slug, path] of (await this.#listing()).pages) {
      const page = await this.#open(slug, path)
      yield { page, sections: splitSections(page) }
    }
  }

  #open(slug: string, path: string): Promise<DocumentationPage> {
    const opening = this.#pages.get(slug) ?? this.#render(slug, path)
    this.#pages.set(slug, opening)
    // After a failure the next request tries again.
    opening.catch(() => this.#pages.delete(slug))
    return opening
  }

  async #render(slug: string, path: string): Promise<DocumentationPage> {
    const { slugs, files } = await this.#listing()
    const written = await readFile(new URL(path, DOCUMENTATION_ROOT), 'utf8')
    const text = ABOUT_DEFAULTS.has(slug) ? written : written.replace(WRITTEN_ADDRESS, () => this.#issuer)
    // The files say how the program is started in a clone.
    const parsed = parseMarkdown(IS_CLONE ? text : text.replaceAll('./gatehouse ', 'gatehouse '))
    const html = renderMarkdown(parsed, (target) => {
      if (/^(https?:|#)/.test(target)) return target
      const [file = '', anchor] = target.split('#')
      const resolved = posix.normalize(posix.join(posix.dirname(path), file))
      const name = slugs.get(resolved) ?? (files.has(fileName(resolved)) ? fileName(resolved) : undefined)
      return name === undefined ? undefined : pageAddress(this.#base, name, anchor)
    })
    return { ...parsed, slug, html }
  }
}

export function pageAddress(base: string, slug: string, anchor?: string): string {
  return `${base}/docs${slug === '' ? '' : `/${slug}`}${anchor === undefined || anchor === '' ? '' : `#${anchor}`}`
}

interface Listing {
  /** Paths of the pages by slug, in alphabetical order. */
  readonly pages: ReadonlyMap<string, string>
  readonly slugs: ReadonlyMap<string, string>
  /** Paths of other files by the name below /docs. */
  readonly files: ReadonlyMap<string, string>
}

/** Requests name an entry of this list, never a path. A package without the folder has no pages. */
async function list(): Promise<Listing> {
  const names = await readdir(new URL(FOLDER, DOCUMENTATION_ROOT), { recursive: true }).catch(() => [])
  const paths = names.map((name) => `${FOLDER}/${name.replaceAll('\\', '/')}`).sort()
  const pages = new Map(paths.filter((path) => path.endsWith('.md')).map((path) => [fileSlug(path), path]))
  if (pages.size > 0) pages.set('changelog', CHANGELOG)
  const others = paths.filter((path) => FILE_TYPES.has(posix.extname(path)))
  return {
    pages,
    slugs: new Map([...pages].map(([slug, path]) => [path, slug])),
    files: new Map(others.map((path) => [fileName(path), path])),
  }
}

/** `docs/decisions/README.md` is `decisions`. */
function fileSlug(path: string): string {
  return fileName(path)
    .replace(/\.md$/, '')
    .replace(/(^|\/)README$/, '')
    .toLowerCase()
}

function fileName(path: string): string {
  return path.slice(FOLDER.length + 1)
}

/** The first page is a table of contents: bold paragraphs, each followed by a list of links. */
function readChapters({ tokens }: ParsedPage, slugs: ReadonlyMap<string, string>): Chapter[] {
  const chapters: { title: string; entries: { slug: string; title: string }[] }[] = []
  for (const token of tokens) {
    if (token.type === 'paragraph') chapters.push({ title: String(token.text).replaceAll('*', ''), entries: [] })
    if (token.type !== 'list') continue
    for (const [, title = '', target = ''] of token.raw.matchAll(/\[([^\]]+)\]\(([^)#]+)\)/g)) {
      const slug = slugs.get(posix.normalize(posix.join(FOLDER, target)))
      if (slug !== undefined) chapters.at(-1)?.entries.push({ slug, title: title[0]?.toUpperCase() + title.slice(1) })
    }
  }
  return chapters.filter(({ entries }) => entries.length > 0)
}
