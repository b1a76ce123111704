/** The names of objects, below the prefix of the target. */

/** Sorts by the time when the generation began, and after the one before of this machine, also if both begin within one second. */
export function generationName(time: number, random: string, before = ''): string {
  const second = formatSecond(time)
  const last = before.slice(0, second.length)
  return `${second > last ? second : formatSecond(parseSecond(last) + 1_000)}-${random}`
}

function parseSecond(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)/, '$1-$2-$3T$4:$5:'))
}

function formatSecond(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+|[-:]/g, '')
}

export function isGenerationName(name: string): boolean {
  return /^\d{8}T\d{6}Z-[\w-]{6,24}$/.test(name)
}

export function headName(generation: string): string {
  return `${generation}/generation`
}

/** Levels: 0 as it was sent, 1 merged by minutes, 2 by hours. */
export const LEVELS = [0, 1, 2] as const
export type Level = (typeof LEVELS)[number]

export interface SegmentName {
  readonly level: Level
  readonly first: number
  readonly last: number
}

export function segmentFolder(generation: string, level: Level): string {
  return `${generation}/segments/${level}/`
}

export function segmentName(generation: string, { level, first, last }: SegmentName): string {
  const range = level === 0 ? digits(first) : `${digits(first)}-${digits(last)}`
  return `${segmentFolder(generation, level)}${range}`
}

/** Undefined for what is not named as a segment. */
export function parseSegmentName(level: Level, name: string): SegmentName | undefined {
  const [, first, last = first] = (level === 0 ? /\/(\d{12})$/ : /\/(\d{12})-(\d{12})$/).exec(name) ?? []
  if (first === undefined || last === undefined || Number(last) < Number(first) || Number(first) === 0) return undefined
  return { level, first: Number(first), last: Number(last) }
}

export function basesFolder(generation: string): string {
  return `${generation}/bases/`
}

export interface BaseName {
  /** The number of the last segment before the base was begun. */
  readonly from: number
  /** When it was begun: one that was interrupted leaves parts behind. */
  readonly began: number
}

export function manifestName(generation: string, base: BaseName): string {
  return `${baseFolder(generation, base)}manifest`
}

export function partName(generation: string, base: BaseName, part: number): string {
  return `${baseFolder(generation, base)}${String(part).padStart(8, '0')}`
}

/** Of a part, or a manifest. */
export function parseBaseName(name: string): BaseName | undefined {
  const [, from, began] = /\/bases\/(\d{12})-(\d{13})\/(?:manifest|\d{8})$/.exec(name) ?? []
  return from === undefined || began === undefined ? undefined : { from: Number(from), began: Number(began) }
}

export function isManifest(name: string): boolean {
  return name.endsWith('/manifest')
}

function baseFolder(generation: string, { from, began }: BaseName): string {
  return `${basesFolder(generation)}${digits(from)}-${String(began).padStart(13, '0')}/`
}

/** Of dumps of PostgreSQL; the same for all nodes of an installation. */
export function dumpGeneration(id: string): string {
  return `postgres-${id}`
}

export function isDumpGeneration(name: string): boolean {
  return /^postgres-[\w-]{12}$/.test(name)
}

export function dumpsFolder(generation: string): string {
  return `${generation}/dumps/`
}

/** Of one dump; `began` in milliseconds. */
export function dumpFolder(generation: string, began: number): string {
  return `${dumpsFolder(generation)}${String(began).padStart(13, '0')}/`
}

export function dumpManifestName(generation: string, began: number): string {
  return `${dumpFolder(generation, began)}manifest`
}

export function dumpPartName(generation: string, began: number, part: number): string {
  return `${dumpFolder(generation, began)}${String(part).padStart(8, '0')}`
}

/** Of a part, or a manifest. */
export function parseDumpName(name: string): number | undefined {
  const [, began] = /\/dumps\/(\d{13})\/(?:manifest|\d{8})$/.exec(name) ?? []
  return began === undefined ? undefined : Number(began)
}

function digits(number: number): string {
  return String(number).padStart(12, '0')
}
