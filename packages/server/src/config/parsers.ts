/** Parsers of settings: from text to value, or a BadSetting with the reason. */
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { isLoopback, nearest } from 'gatehouse-protocol'
import { SIGNATURE_ALGS, type SignatureAlg } from '../lib/signature-algs.ts'

/** An unknown or invalid setting. The message names it and says what to do. */
export class BadSetting extends Error {
  override name = 'BadSetting'
}

export const SERVICES = ['identity', 'streaming', 'query'] as const
export type ServiceName = (typeof SERVICES)[number]
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export const DISCOVERY_MODES = ['exact', 'complete'] as const
export const LOG_FORMATS = ['json', 'pretty'] as const

/** The values that a parser takes, where they are few: for the docs. */
export function listChoices(parse: object): readonly string[] {
  return CHOICES.get(parse) ?? []
}

const CHOICES = new WeakMap<object, readonly string[]>()

function offering<Parser extends object>(choices: readonly string[], parse: Parser): Parser {
  CHOICES.set(parse, choices)
  return parse
}

export function parseText(text: string): string {
  return text
}

export function parsePath(text: string): string {
  if (text === '') throw new BadSetting('a folder is required')
  return resolve(text)
}

export function parsePort(text: string): number {
  const port = parseInteger(text)
  if (port > 65535) throw new BadSetting(`${text} is not a port (0 to 65535)`)
  return port
}

export function parseOptionalPort(text: string): number | undefined {
  return text === '' ? undefined : parsePort(text)
}

export function parseInteger(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new BadSetting(`"${text}" is not a whole number`)
  return Number(text)
}

/** Of a stream of JetStream, which needs a majority of them. */
export const parseReplicas = offering(['1', '3', '5'], (text: string): number => {
  if (!['1', '3', '5'].includes(text)) throw new BadSetting(`"${text}" is not 1, 3 or 5`)
  return Number(text)
})

const MOST_WORKERS = 128

/** A number of processes; `auto` is one per core. */
export function parseWorkers(text: string): number {
  const workers = text === 'auto' ? Math.min(availableParallelism(), MOST_WORKERS) : parseInteger(text)
  if (workers < 1 || workers > MOST_WORKERS)
    throw new BadSetting(`${text} is neither auto nor from 1 to ${MOST_WORKERS}`)
  return workers
}

/** Seconds, in milliseconds. */
export function parseSeconds(text: string): number {
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text)) throw new BadSetting(`"${text}" is not a number of seconds`)
  return Math.round(Number(text) * 1000)
}

export function parseOptionalSeconds(text: string): number | undefined {
  return text === '' ? undefined : parseSeconds(text)
}

export function parseTokenLifetime(text: string): number {
  const lifetime = parseSeconds(text)
  if (lifetime < 1000 || lifetime > 86_400_000) throw new BadSetting(`${text} is not between 1 and 86400 seconds`)
  return lifetime
}

export function parsePushedLifetime(text: string): number {
  const lifetime = parseSeconds(text)
  if (!/^\d+$/.test(text) || lifetime < 5_000 || lifetime > 599_000)
    throw new BadSetting(`${text} is not a whole number of seconds between 5 and 599`)
  return lifetime
}

export function parseDays(text: string): number {
  const days = parseInteger(text)
  if (days < 1) throw new BadSetting('it must be at least one day')
  return days * 86_400_000
}

export function parseBrandName(text: string): string {
  if (text.trim() === '') throw new BadSetting('a name is required')
  return text.trim()
}

export function parseColour(text: string): string {
  if (!/^#[0-9a-f]{6}$/i.test(text)) throw new BadSetting(`"${text}" is not a colour like #3056d3`)
  return text.toLowerCase()
}

export function parseContact(text: string): string {
  const contact = text.trim()
  if (contact.length > 200) throw new BadSetting('it is longer than 200 characters')
  if (/^[a-z][a-z0-9+.-]*:/i.test(contact) && !/^https?:\/\/\S+$/i.test(contact))
    throw new BadSetting(`${shown(contact)} is not an http or https URL; write an e-mail address without mailto:`)
  return contact
}

export function parseLogo(text: string): string {
  if (text === '') return text
  if (!/\.(svg|png|webp|jpe?g)$/i.test(text)) throw new BadSetting(`"${text}" is not an SVG, PNG, WebP or JPEG file`)
  return resolve(text)
}

export function parseWindowBits(text: string): number {
  const bits = parseInteger(text)
  if (bits < 9 || bits > 15) throw new BadSetting(`${text} is not a window size (9 to 15)`)
  return bits
}

export const parseBoolean = offering(['true', 'false'], (text: string): boolean => {
  if (text === 'true' || text === '1' || text === 'yes') return true
  if (text === 'false' || text === '0' || text === 'no') return false
  throw new BadSetting(`"${text}" is neither true nor false`)
})

export function parseList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** RS256 always: clients without a choice of their own get it. */
export const parseSigningAlgs = offering(SIGNATURE_ALGS, (text: string): readonly SignatureAlg[] => {
  const algs = parseList(text).map(oneOf(SIGNATURE_ALGS))
  if (!algs.includes('RS256')) throw new BadSetting('RS256 must be among them')
  return [...new Set(algs)]
})

const DPOP_NONCES = ['public', 'all', 'off'] as const
export const parseDpopNonce = oneOf(DPOP_NONCES)
const DPOP_REPLAYS = ['local', 'shared'] as const
export const parseDpopReplay = oneOf(DPOP_REPLAYS)

/** Origins that programs reach with http or https. */
export function parseWebOrigins(text: string): readonly string[] {
  const origins = parseOrigins(text)
  for (const given of origins)
    if (!/^https?:/.test(given)) throw new BadSetting(`${shown(given)} is not an origin like https://desk.example.com`)
  return origins
}

/** Origins as browsers serialise them (RFC 6454 §6.2), since they are compared as strings. Apps may have their own schemes. */
export function parseOrigins(text: string): readonly string[] {
  const origins = parseList(text)
  for (const given of origins) {
    const origin = /^https?:/i.test(given) ? URL.parse(given)?.origin : APP_ORIGIN.exec(given)?.[0]
    if (origin === undefined) throw new BadSetting(`${shown(given)} is not an origin like https://desk.example.com`)
    if (origin !== given) throw new BadSetting(`${shown(given)} is not a plain origin: write ${origin}`)
  }
  return origins
}

const APP_ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]+$/

export const parseServices = offering(SERVICES, (text: string): readonly ServiceName[] => {
  const names = parseList(text)
  if (names.length === 0) throw new BadSetting(`name at least one of ${SERVICES.join(', ')}`)
  return names.map(oneOf(SERVICES))
})

export function parseAddresses(text: string): readonly string[] {
  const addresses = parseList(text)
  for (const address of addresses) {
    const [, host = '', prefix = '0'] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(address) ?? []
    const family = isIP(host)
    if (family === 0 || Number(prefix) > (family === 4 ? 32 : 128))
      throw new BadSetting(`"${address}" is neither an address nor a network like 10.0.0.0/8`)
  }
  return addresses
}

export interface Budget {
  readonly requests: number
  readonly seconds: number
}
export type Budgets = { readonly [By in 'address' | 'client' | 'user']?: Budget }

export function parseBudgets(text: string): Budgets {
  const budgets: [by: string, budget: Budget][] = []
  for (const part of text.split(/[ ,]+/).filter((word) => word !== '')) {
    const [, by = '', requests = '', seconds = ''] = /^(address|client|user)=(\d{1,9})\/(\d{1,6})$/.exec(part) ?? []
    if (by === '' || Number(requests) === 0 || Number(seconds) === 0)
      throw new BadSetting(`"${part}" does not look like address=600/60 (requests/seconds; by address, client or user)`)
    budgets.push([by, { requests: Number(requests), seconds: Number(seconds) }])
  }
  return Object.fromEntries(budgets)
}

export function parseWebAddress(text: string): string {
  if (text === '') return text
  const address = URL.parse(text)
  if (address === null || !/^https?:$/.test(address.protocol))
    throw new BadSetting(`${shown(text)} is not an http or https URL`)
  // Credentials here would be shown and logged with the setting.
  if (address.username !== '' || address.password !== '')
    throw new BadSetting('the URL must not contain a user or password')
  return text
}

/** A value in a message, unless it may contain a password. */
export function shown(value: string): string {
  return value.includes('@') ? 'it' : `"${value}"`
}

export function parseServer(text: string): string {
  return parseWebAddress(text).replace(/\/$/, '')
}

export function parseRatio(text: string): number {
  const ratio = Number(text)
  if (text.trim() === '' || !(ratio >= 0 && ratio <= 1)) throw new BadSetting(`"${text}" is not a number from 0 to 1`)
  return ratio
}

export function parseIssuer(text: string): string {
  if (text === '') return text
  const address = URL.parse(text)
  if (address === null || !['http:', 'https:'].includes(address.protocol))
    throw new BadSetting(`${shown(text)} is not an http or https URL`)
  if (/[?#]/.test(text) || address.username !== '' || address.password !== '')
    throw new BadSetting('an issuer must not have a query, fragment, user or password')
  if (address.protocol === 'http:' && !isLoopback(address.hostname)) {
    throw new BadSetting(`"${text}" must use https: http is allowed on loopback only`)
  }
  return text.replace(/\/$/, '')
}

export function parseMasterKey(text: string): Buffer | undefined {
  if (text === '') return undefined
  const key = Buffer.from(text, 'base64')
  if (key.length !== 32) throw new BadSetting('it must be 32 bytes in Base64, as from "openssl rand -base64 32"')
  return key
}

/** A bearer token of the operator (RFC 6750 §2.1), long enough that it cannot be guessed. */
export function parseFixedToken(text: string): string {
  if (text !== '' && !/^[\w.~+/-]{16,}=*$/.test(text))
    throw new BadSetting(
      'it must be at least 16 letters, digits or characters of -._~+/, as from "openssl rand -base64 32"',
    )
  return text
}

export function oneOf<const T extends string>(choices: readonly T[]): (text: string) => T {
  return offering(choices, (text: string) => {
    const choice = choices.find((candidate) => candidate === text)
    if (choice !== undefined) return choice
    const near = nearest(text, choices)
    throw new BadSetting(
      `"${text}" is not one of ${choices.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
    )
  })
}
