/** The typefaces of all pages and of the console: files in `fonts/`, named by their content, with their licence. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { PAGE_FILES } from '../../lib/program-files.ts'

export interface FontFile {
  /** Contains a digest of the content. */
  readonly name: string
  readonly content: Buffer
}

interface Typeface {
  readonly family: string
  readonly file: string
  /** The characters that it has; browsers load it for these only. */
  readonly range: string
}

const LATIN = 'U+0000-00FF,U+0131,U+0152-0153,U+02C6,U+02DA,U+02DC,U+2000-206F,U+20AC,U+2122,U+2190-2193,U+2212,U+2215'
const TYPEFACES: readonly Typeface[] = [
  { family: 'Inter', file: 'interface', range: LATIN },
  { family: 'Inter', file: 'interface-extended', range: 'U+0100-0130,U+0132-0151,U+0154-017F,U+0218-021B,U+1E9E' },
  { family: 'JetBrains Mono', file: 'figures', range: LATIN },
]

let read: readonly (Typeface & FontFile)[] | undefined

/** Read once, on first use. */
export function fontFiles(): readonly (Typeface & FontFile)[] {
  read ??= TYPEFACES.map((typeface) => {
    const content = readFileSync(new URL(`fonts/${typeface.file}.woff2`, PAGE_FILES))
    const digest = createHash('sha256').update(content).digest('base64url').slice(0, 12)
    return { ...typeface, content, name: `${typeface.file}-${digest}.woff2` }
  })
  return read
}

/** The rules that declare them. `base` is the path of the issuer, where `/assets` is. */
export function fontFaces(base: string): string {
  return fontFiles()
    .map(
      ({ family, name, range }) =>
        `@font-face{font-family:"${family}";font-weight:400 700;font-display:swap;src:url("${base}/assets/${name}") format("woff2");unicode-range:${range}}\n`,
    )
    .join('')
}

/** Needed by every page, so it is loaded before the stylesheet is read. */
export function interfaceFont(base: string): string {
  return `${base}/assets/${fontFiles()[0]?.name}`
}
