/** Templates of titles and texts: `{{column}}`, `{{name}}`, `{{state}}`, `{{count}}`, `{{alert}}`, each put in once. */
import type { NoticeInstance } from './notice.ts'

const PLACE = /\{\{([^{}]{1,130})\}\}/g
const LONGEST_VALUE = 200

const WORDS = ['name', 'state', 'count', 'alert'] as const

/** What a template names that there is not. */
export function unknownPlaces(template: string, columns: readonly string[]): readonly string[] {
  const known = new Set<string>([...WORDS, ...columns])
  return [...template.matchAll(PLACE)].map(([, name = '']) => name.trim()).filter((name) => !known.has(name))
}

export interface TemplateValues {
  readonly alert: string
  readonly name: string
  readonly state: string
  readonly count: number
  /** Whose columns are put in. */
  readonly first: NoticeInstance | undefined
}

/** As plain text: each channel escapes it as a whole. A column goes before a word of the same name. */
export function fillTemplate(template: string, values: TemplateValues): string {
  const words = new Map<string, unknown>(WORDS.map((word) => [word, values[word]]))
  const row = values.first?.row
  const columns = new Map<string, unknown>(typeof row === 'object' && row !== null ? Object.entries(row) : [])
  // What is put in is not read again.
  return template.replaceAll(PLACE, (_place, written: string) => {
    const name = written.trim()
    return writePlain(columns.has(name) ? columns.get(name) : words.get(name))
  })
}

/** One line, without what could pass for the end of one or hide in it. */
export function writePlain(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
  return cut(plain, LONGEST_VALUE)
}

/** At most this many characters. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text
}
