/** The settings of a session: one table for SET, SHOW, RESET and the start-up packet. */
import { WireError } from '../failure.ts'

interface Setting {
  readonly name: string
  readonly initial: string
  readonly about: string
  /** Sent to the client as ParameterStatus. */
  readonly isReported?: true
  /** The value as it is kept; undefined if it cannot be set to this. */
  readonly read: (value: string) => string | undefined
  /** What to write instead. */
  readonly hint?: string
  /** At start-up a value that cannot be set is ignored. */
  readonly isOptional?: true
}

/** As long as PostgreSQL's names. */
const LONGEST_NAME = 63
/** Longer than any text that a client needs to set. */
const LONGEST_TEXT = 1000

/** Copied: a part of a text would hold the whole of it. */
const readName = (value: string): string => Buffer.from(value.slice(0, LONGEST_NAME)).toString()
const readText = (value: string): string | undefined =>
  value.length > LONGEST_TEXT ? undefined : Buffer.from(value).toString()

function readWord(...words: readonly string[]): Setting['read'] {
  return (value) => (words.includes(value.trim().toLowerCase()) ? words[0] : undefined)
}

/** The value is kept as it is written here. */
function only(kept: string, ...others: readonly string[]): Setting['read'] {
  const accepted = new Set([kept, ...others].map((word) => word.toLowerCase()))
  // asyncpg quotes the encoding in its start-up packet.
  return (value) =>
    accepted.has(
      value
        .trim()
        .toLowerCase()
        .replace(/^'(.*)'$/, '$1'),
    )
      ? kept
      : undefined
}

function never(): undefined {
  return undefined
}

function whole(low: number, high: number): Setting['read'] {
  return (value) => {
    const number = Number(value)
    return value.trim() !== '' && Number.isInteger(number) && number >= low && number <= high
      ? String(number)
      : undefined
  }
}

const ON = ['on', 'true', 'yes', '1', 't', 'y']
const OFF = ['off', 'false', 'no', '0', 'f', 'n']

function readSwitch(value: string): string | undefined {
  const word = value.trim().toLowerCase()
  return ON.includes(word) ? 'on' : OFF.includes(word) ? 'off' : undefined
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['us', 0.001],
  ['ms', 1],
  ['s', 1000],
  ['min', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

/** Kept in milliseconds. */
function readDuration(value: string): string | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(value.trim()) ?? []
  const factor = UNITS.get(unit.toLowerCase())
  if (amount === undefined || factor === undefined) return undefined
  const milliseconds = Math.round(Number(amount) * factor)
  return milliseconds <= 2_147_483_647 ? String(milliseconds) : undefined
}

function readStyle(value: string): string | undefined {
  const words = value
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '')
  return words.length > 0 && words.every((word) => STYLES.has(word)) ? 'ISO, MDY' : undefined
}

const STYLES = new Set(['iso', 'mdy', 'dmy', 'ymd', 'us', 'european', 'default'])
const ZONES = [
  'UTC',
  'Etc/UTC',
  'GMT',
  'Etc/GMT',
  'Z',
  'Zulu',
  'Universal',
  '0',
  '+00',
  '+00:00',
  '00:00',
  'UCT',
  'default',
]
const NO_ZONE = "Times are sent in UTC; write t AT TIME ZONE 'Europe/Zurich' for a local time"
const MAX_DIGITS = 3
const ONE_ISOLATION = 'Every statement has its own snapshot: use READ COMMITTED'
const readIsolation = only('read committed', 'read uncommitted', 'default')

/** `server_version` and `session_authorization` are those of the server and the caller. */
const SETTINGS: readonly Setting[] = [
  { name: 'application_name', initial: '', about: 'The name of the client program.', isReported: true, read: readName },
  {
    name: 'client_encoding',
    initial: 'UTF8',
    about: 'The encoding of texts.',
    isReported: true,
    read: only('UTF8', 'utf-8', 'unicode', 'default'),
  },
  { name: 'DateStyle', initial: 'ISO, MDY', about: 'The format of dates.', isReported: true, read: readStyle },
  {
    name: 'default_transaction_read_only',
    initial: 'off',
    about: 'Whether transactions only read.',
    isReported: true,
    read: readSwitch,
  },
  { name: 'in_hot_standby', initial: 'off', about: 'Whether the server is a standby.', isReported: true, read: never },
  {
    name: 'integer_datetimes',
    initial: 'on',
    about: 'Whether times are integers in binary.',
    isReported: true,
    read: never,
  },
  {
    name: 'IntervalStyle',
    initial: 'postgres',
    about: 'The format of intervals.',
    isReported: true,
    read: only('postgres', 'default'),
  },
  { name: 'is_superuser', initial: 'off', about: 'Whether the caller is a superuser.', isReported: true, read: never },
  { name: 'server_encoding', initial: 'UTF8', about: 'The encoding of the server.', isReported: true, read: never },
  { name: 'server_version', initial: '', about: 'The version of the server.', isReported: true, read: never },
  { name: 'session_authorization', initial: '', about: 'The caller.', isReported: true, read: only('default') },
  {
    name: 'standard_conforming_strings',
    initial: 'on',
    about: 'Whether a backslash in a text is a character.',
    isReported: true,
    read: only('on', 'true', '1', 'yes'),
  },
  {
    name: 'TimeZone',
    initial: 'UTC',
    about: 'The time zone of results.',
    isReported: true,
    isOptional: true,
    read: only('UTC', ...ZONES),
    hint: NO_ZONE,
  },
  { name: 'backslash_quote', initial: 'safe_encoding', about: 'Accepted, without effect.', read: readText },
  { name: 'bytea_output', initial: 'hex', about: 'The format of bytes in text.', read: only('hex') },
  { name: 'check_function_bodies', initial: 'on', about: 'Accepted, without effect.', read: readSwitch },
  { name: 'client_min_messages', initial: 'notice', about: 'Accepted, without effect.', read: readText },
  {
    name: 'default_transaction_isolation',
    initial: 'read committed',
    about: 'The isolation of transactions.',
    read: readIsolation,
    hint: ONE_ISOLATION,
  },
  { name: 'escape_string_warning', initial: 'on', about: 'Accepted, without effect.', read: readSwitch },
  {
    name: 'extra_float_digits',
    initial: '1',
    about: 'Accepted: a Double always has its shortest digits.',
    read: whole(-15, MAX_DIGITS),
  },
  { name: 'geqo', initial: 'on', about: 'Accepted, without effect.', read: readSwitch },
  { name: 'idle_in_transaction_session_timeout', initial: '0', about: 'Accepted, without effect.', read: readDuration },
  { name: 'idle_session_timeout', initial: '0', about: 'Accepted, without effect.', read: readDuration },
  { name: 'jit', initial: 'off', about: 'Accepted, without effect.', read: readSwitch },
  { name: 'lc_collate', initial: 'C', about: 'Texts are ordered by their code points.', read: never },
  { name: 'lc_ctype', initial: 'C', about: 'The classes of characters.', read: never },
  { name: 'lc_messages', initial: 'C', about: 'Accepted, without effect.', read: readText },
  { name: 'lc_monetary', initial: 'C', about: 'Accepted, without effect.', read: readText },
  { name: 'lc_numeric', initial: 'C', about: 'Accepted, without effect.', read: readText },
  { name: 'lock_timeout', initial: '0', about: 'Accepted, without effect.', read: readDuration },
  { name: 'max_identifier_length', initial: '63', about: 'The bytes of a name.', read: never },
  { name: 'max_index_keys', initial: '32', about: 'The columns of an index.', read: never },
  { name: 'row_security', initial: 'on', about: 'Row filters always apply.', read: readSwitch },
  { name: 'search_path', initial: '"$user", public', about: 'Accepted: there is one schema.', read: readText },
  {
    name: 'server_version_num',
    initial: '150000',
    about: 'The version of PostgreSQL that the protocol follows.',
    read: never,
  },
  {
    name: 'statement_timeout',
    initial: '0',
    about: 'Milliseconds of a statement; it can only shorten query_seconds.',
    read: readDuration,
  },
  { name: 'synchronous_commit', initial: 'on', about: 'Accepted: a commit is always durable.', read: readText },
  {
    name: 'transaction_isolation',
    initial: 'read committed',
    about: 'The isolation of the transaction.',
    read: readIsolation,
    hint: ONE_ISOLATION,
  },
  { name: 'transaction_read_only', initial: 'off', about: 'Whether the transaction only reads.', read: readSwitch },
  { name: 'work_mem', initial: '4MB', about: 'Accepted, without effect.', read: readText },
  { name: 'xmloption', initial: 'content', about: 'Accepted, without effect.', read: readWord('content', 'document') },
]

const BY_NAME: ReadonlyMap<string, Setting> = new Map(SETTINGS.map((setting) => [setting.name.toLowerCase(), setting]))

export interface SettingRow {
  readonly name: string
  readonly value: string
  readonly about: string
}

/** Only values that differ from the table are kept. */
export class Settings {
  readonly #initial: Map<string, string>
  readonly #values = new Map<string, string>()
  readonly #report: (name: string, value: string) => void
  /** As they were before the block. */
  #before: ReadonlyMap<string, string> | undefined
  /** What SET LOCAL has changed in the block, as it was before. */
  readonly #locals = new Map<string, string>()

  /** `fixed` are values of the server and the caller. */
  constructor(fixed: Readonly<Record<string, string>>, report: (name: string, value: string) => void) {
    this.#initial = new Map(Object.entries(fixed))
    this.#report = report
  }

  /** A value of the start-up packet, which RESET returns to. */
  start(name: string, value: string): void {
    const setting = find(name)
    const kept = setting.read(value)
    if (kept !== undefined) this.#initial.set(setting.name, kept)
    else if (!setting.isOptional) throw invalid(setting, value)
  }

  reportAll(): void {
    for (const { name, isReported } of SETTINGS) if (isReported) this.#report(name, this.get(name))
  }

  get(name: string): string {
    const setting = find(name)
    return this.#values.get(setting.name) ?? this.#initialValue(setting)
  }

  /** `value` undefined: the default. */
  set(name: string, value: string | undefined, isLocal: boolean): void {
    const setting = find(name)
    const kept = value === undefined ? this.#initialValue(setting) : setting.read(value)
    if (kept === undefined) throw invalid(setting, value ?? '')
    if (isLocal && this.#before === undefined) return
    if (isLocal && !this.#locals.has(setting.name)) this.#locals.set(setting.name, this.get(name))
    this.#put(setting, kept)
  }

  resetAll(): void {
    for (const name of [...this.#values.keys()]) this.#put(find(name), this.#initialValue(find(name)))
  }

  /** For SHOW: the name as the table has it. */
  findName(name: string): string {
    return find(name).name
  }

  all(): readonly SettingRow[] {
    return SETTINGS.map(({ name, about }) => ({ name, value: this.get(name), about }))
  }

  beginBlock(): void {
    this.#before = new Map(this.#values)
  }

  /** What SET has changed in a block is undone with it; what SET LOCAL has changed, in any case. */
  endBlock(isCommitted: boolean): void {
    const before = this.#before
    this.#before = undefined
    if (before !== undefined && !isCommitted) {
      for (const name of new Set([...this.#values.keys(), ...before.keys()])) {
        const setting = find(name)
        this.#put(setting, before.get(name) ?? this.#initialValue(setting))
      }
    } else for (const [name, value] of this.#locals) this.#put(find(name), value)
    this.#locals.clear()
  }

  #initialValue({ name, initial }: Setting): string {
    return this.#initial.get(name) ?? initial
  }

  #put(setting: Setting, value: string): void {
    const isChanged = this.get(setting.name) !== value
    if (value === this.#initialValue(setting)) this.#values.delete(setting.name)
    else this.#values.set(setting.name, value)
    if (isChanged && setting.isReported) this.#report(setting.name, value)
  }
}

function find(name: string): Setting {
  const setting = BY_NAME.get(name.toLowerCase())
  if (setting === undefined) throw new WireError('42704', `There is no setting ${name}`, 'SHOW ALL lists the settings')
  return setting
}

function invalid({ name, read, hint }: Setting, value: string): WireError {
  if (read === never) return new WireError('55P02', `The setting ${name} cannot be changed`)
  const sqlstate = /isolation/.test(name) ? '0A000' : '22023'
  const shown = value.length > LONGEST_TEXT ? `longer than ${LONGEST_TEXT} characters` : JSON.stringify(value)
  return new WireError(sqlstate, `The setting ${name} cannot be ${shown}`, hint)
}

/** The settings of the start-up packet; `options` has further ones, as -c name=value or --name=value. */
export function* startSettings(startup: ReadonlyMap<string, string>): Generator<readonly [string, string]> {
  const options = startup.get('options') ?? ''
  for (const [, name = '', value = ''] of options.matchAll(/(?:-c\s*|--)([\w.-]{1,63})=((?:\\.|[^\s\\])*)/g))
    yield [name.replaceAll('-', '_'), value.replace(/\\(.)/g, '$1')]
  for (const [name, value] of startup) if (name !== 'options') yield [name, value]
}
