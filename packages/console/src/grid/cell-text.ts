/** Values as text: what a cell shows, which is cut, and the whole of it, for details and copies. */
import { typeKind } from './compare.ts'

/** More than a cell can ever show. */
const SHOWN = 300

/** What a cell shows. Never longer than a few hundred characters, however large the value is. `digits` are those of a second. */
export function cellText(value: unknown, type: string, digits = 0): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'string') {
    if (typeKind(type) === 'Timestamp') return localTime(value, digits)
    if (typeKind(type) === 'LocalTimestamp') return readingText(value, digits)
    return value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value
  }
  if (value instanceof Uint8Array) return `${toHex(value.subarray(0, 32))}${value.length > 32 ? '…' : ''}`
  return typeof value === 'object' ? previewJson(value) : String(value)
}

/** All of a value, exactly: JSON in lines, bytes as Base64 as the server writes them. */
export function fullText(value: unknown, pretty = false): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Uint8Array) return toBase64(value)
  return typeof value === 'object' ? writeJson(value, pretty) : String(value)
}

/** JSON with integers beyond 2^53 as they are. */
export function writeJson(value: unknown, pretty = false): string {
  if (typeof value === 'bigint') return String(value)
  const raw = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON
  const replace = (_: string, part: unknown) =>
    typeof part === 'bigint' ? (raw === undefined ? String(part) : raw.call(JSON, String(part))) : part
  return JSON.stringify(value, replace, pretty ? 2 : undefined) ?? 'null'
}

/** Whether details show more than the cell does. */
export function isLong(value: unknown): boolean {
  if (typeof value === 'string') return value.length > 60 || value.includes('\n')
  return typeof value === 'object' && value !== null
}

/** 2026-11-16 09:30:00.000001 in the zone of the viewer, with at least `digits` digits of a second. */
export function localTime(timestamp: string, digits = 0): string {
  const at = new Date(timestamp)
  if (Number.isNaN(at.getTime())) return timestamp
  const shown = Math.max(digits, fractionDigits(timestamp))
  const fraction = shown === 0 ? '' : `.${(/\.(\d+)/.exec(timestamp)?.[1] ?? '').padEnd(shown, '0').slice(0, shown)}`
  const date = `${pad(at.getFullYear(), 4)}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`
  return `${date} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}${fraction}`
}

/** A LocalTimestamp is shown as it is: its zone is that of the statement. */
function readingText(reading: string, digits: number): string {
  const [time = '', fraction = ''] = reading.replace('T', ' ').split('.')
  const shown = Math.max(digits, fractionDigits(reading))
  return shown === 0 ? time : `${time}.${fraction.padEnd(shown, '0')}`
}

/** 0, 3 or 6: how many digits of a second a timestamp needs. */
export function fractionDigits(timestamp: unknown): number {
  const digits = /\.(\d*[1-9])/.exec(typeof timestamp === 'string' ? timestamp : '')?.[1]?.length ?? 0
  return Math.ceil(digits / 3) * 3
}

export function utcTime(timestamp: string): string {
  return `${timestamp.replace('T', ' ').replace(/(Z|\+00:00)$/, '')} UTC`
}

function pad(number: number, length = 2): string {
  return String(number).padStart(length, '0')
}

/** The beginning of JSON, without writing the rest. */
function previewJson(value: object): string {
  let text = ''
  const write = (part: unknown): void => {
    if (text.length > SHOWN) return
    if (typeof part === 'string') text += JSON.stringify(part.length > SHOWN ? part.slice(0, SHOWN) : part)
    else if (typeof part !== 'object' || part === null) text += String(part)
    else if (Array.isArray(part)) {
      text += '['
      for (let at = 0; at < part.length && text.length <= SHOWN; at++) {
        if (at > 0) text += ','
        write(part[at])
      }
      text += ']'
    } else writeMembers(part as Record<string, unknown>)
  }
  const writeMembers = (object: Record<string, unknown>): void => {
    text += '{'
    let isFirst = true
    for (const name in object) {
      if (text.length > SHOWN) break
      text += `${isFirst ? '' : ','}${JSON.stringify(name)}:`
      isFirst = false
      write(object[name])
    }
    text += '}'
  }
  write(value)
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
