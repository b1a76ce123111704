/** The files of the documentation: read, parsed and rendered when they are first asked for, then kept. */
import { readdir, readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { type ParsedPage, parseMarkdown, renderMarkdown, sectionsOf, type TextSection } from './markdown.ts'

/** The folder that the program is in: that of the package. */
const ROOT = new URL('../../../../../', import.meta.url)
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

export interface Library {
  /** Undefined if there is no such page. */
  page(slug: string): Promise<DocumentationPage | undefined>
  file(name: string): Promise<Picture | undefined>
  chapters(): Promise<readonly Chapter[]>
  /** The sections of every page, page by page, so that others are served between them. */
  sections(): AsyncIterable<{ readonly page: DocumentationPage; readonly sections: readonly TextSection[] }>
}

const FILE_TYPES: ReadonlyMap<string, string> = new Map([
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.json', 'application/json'],
])

/** `base` is the path of the issuer, which prefixes every link. */
export function openLibrary(base: string): Library {
  const pages = new Map<string, Promise<DocumentationPage>>()
  let listed: Promise<Listing> | undefined
  const listing = () => {
    listed ??= list()
    return listed
  }
  return {
    async page(slug) {
      const found = (await listing()).pages.get(slug)
      return found === undefined ? undefined : open(slug, found)
    },
    async file(name) {
      const found = (await listing()).files.get(name)
      const type = FILE_TYPES.get(posix.extname(name))
      return found === undefined || type === undefined
        ? undefined
        : { type, content: await readFile(new URL(found, ROOT)) }
    },
    async chapters() {
      const first = await this.page('')
      return first === undefined ? [] : readChapters(first, (await listing()).slugs)
    },
    async *sections() {
      for (const [slug, path] of (await listing()).pages) {
        const page = await open(slug, path)
        yield { page, sections: sectionsOf(page) }
      }
    },
  }

  function open(slug: string, path: string): Promise<DocumentationPage> {
    const known = pages.get(slug)
    if (known !== undefined) return known
    const opening = render(slug, path)
    pages.set(slug, opening)
    // After a failure the next request tries again.
    opening.catch(() => pages.delete(slug))
    return opening
  }

  async function render(slug: string, path: string): Promise<DocumentationPage> {
    const { slugs, files } = await listing()
    const parsed = parseMarkdown(await readFile(new URL(path, ROOT), 'utf8'))
    const html = renderMarkdown(parsed, (target) => {
      if (/^(https?:|#)/.test(target)) return target
      const [file = '', anchor] = target.split('#')
      const resolved = posix.normalize(posix.join(posix.dirname(path), file))
      const name = slugs.get(resolved) ?? (files.has(fileName(resolved)) ? fileName(resolved) : undefined)
      return name === undefined ? undefined : addressOf(base, name, anchor)
    })
    return { ...parsed, slug, html }
  }
}

export function addressOf(base: string, slug: string, anchor?: string): string {
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
  const names = await readdir(new URL(FOLDER, ROOT), { recursive: true }).catch(() => [])
  const paths = names.map((name) => `${FOLDER}/${name.replaceAll('\\', '/')}`).sort()
  const pages = new Map(paths.filter((path) => path.endsWith('.md')).map((path) => [slugOf(path), path]))
  if (pages.size > 0) pages.set('changelog', CHANGELOG)
  const others = paths.filter((path) => FILE_TYPES.has(posix.extname(path)))
  return {
    pages,
    slugs: new Map([...pages].map(([slug, path]) => [path, slug])),
    files: new Map(others.map((path) => [fileName(path), path])),
  }
}

/** `docs/decisions/README.md` is `decisions`. */
function slugOf(path: string): string {
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
