/** Commands of the session, which no engine runs: transactions, settings, prepared statements, COPY. */
import { type CopyCommand, parseCopy } from './copy-command.ts'
import { WireError } from './failure.ts'
import { type CommandToken, commandTokens } from './split.ts'

export type Command =
  | { readonly kind: 'begin'; readonly tag: 'BEGIN' | 'START TRANSACTION'; readonly modes: TransactionModes }
  | { readonly kind: 'commit'; readonly isChained: boolean }
  | { readonly kind: 'rollback'; readonly isChained: boolean }
  | { readonly kind: 'savepoint' | 'release' | 'rollback-to'; readonly name: string }
  | { readonly kind: 'set'; readonly name: string; readonly value: string | undefined; readonly isLocal: boolean }
  | { readonly kind: 'set-transaction'; readonly modes: TransactionModes; readonly isSession: boolean }
  | { readonly kind: 'show'; readonly name: string }
  | { readonly kind: 'show-all' }
  | { readonly kind: 'reset'; readonly name: string | undefined }
  | { readonly kind: 'discard'; readonly what: 'all' | 'plans' | 'sequences' | 'temp' }
  | { readonly kind: 'deallocate'; readonly name: string | undefined }
  /** Accepted without effect: there are no cursors and no notifications to end. */
  | { readonly kind: 'nothing'; readonly tag: string }
  | CopyCommand

export interface TransactionModes {
  readonly readOnly?: boolean
}

/** Undefined for a statement of IQL. */
export function parseCommand(text: string): Command | undefined {
  const word = FIRST_WORD.exec(text)?.[1]?.toLowerCase()
  if (word === undefined || !COMMANDS.has(word)) return undefined
  return new CommandParser(text).parse(word)
}

/** After white space and comments. */
const FIRST_WORD = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*([A-Za-z]+)/

const COMMANDS: ReadonlySet<string> = new Set([
  'begin',
  'start',
  'commit',
  'end',
  'rollback',
  'abort',
  'savepoint',
  'release',
  'set',
  'show',
  'reset',
  'discard',
  'deallocate',
  'copy',
  'close',
  'unlisten',
])

class CommandParser {
  readonly #text: string
  readonly #tokens: readonly CommandToken[]
  #index = 1

  constructor(text: string) {
    this.#text = text
    this.#tokens = commandTokens(text)
  }

  parse(word: string): Command | undefined {
    if (word === 'copy') return parseCopy(this.#text, this.#tokens)
    if (word === 'show' && (this.#sees('tables') || this.#sees('columns'))) return undefined
    const command = this.#command(word)
    if (this.#index < this.#tokens.length) throw this.#unexpected()
    return command
  }

  #command(word: string): Command {
    switch (word) {
      case 'begin':
        this.#acceptsOne('work', 'transaction')
        return { kind: 'begin', tag: 'BEGIN', modes: this.#modes() }
      case 'start':
        this.#expects('transaction')
        return { kind: 'begin', tag: 'START TRANSACTION', modes: this.#modes() }
      case 'commit':
      case 'end':
        this.#acceptsOne('work', 'transaction')
        return { kind: 'commit', isChained: this.#chain() }
      case 'rollback':
      case 'abort':
        this.#acceptsOne('work', 'transaction')
        if (!this.#accepts('to')) return { kind: 'rollback', isChained: this.#chain() }
        this.#accepts('savepoint')
        return { kind: 'rollback-to', name: this.#name() }
      case 'savepoint':
        return { kind: 'savepoint', name: this.#name() }
      case 'release':
        this.#accepts('savepoint')
        return { kind: 'release', name: this.#name() }
      case 'set':
        return this.#set()
      case 'show':
        return this.#show()
      case 'reset':
        if (this.#accepts('all')) return { kind: 'reset', name: undefined }
        if (this.#acceptsAll('time', 'zone')) return { kind: 'reset', name: 'TimeZone' }
        return { kind: 'reset', name: this.#name() }
      case 'discard':
        return { kind: 'discard', what: this.#oneOf('all', 'plans', 'sequences', 'temp', 'temporary') }
      case 'deallocate':
        this.#accepts('prepare')
        return { kind: 'deallocate', name: this.#accepts('all') ? undefined : this.#name() }
      case 'close':
        this.#expects('all')
        return { kind: 'nothing', tag: 'CLOSE CURSOR ALL' }
      default:
        this.#index++
        return { kind: 'nothing', tag: 'UNLISTEN' }
    }
  }

  /** SET [SESSION | LOCAL] name (TO | =) value, and its special forms. */
  #set(): Command {
    if (this.#acceptsAll('session', 'characteristics', 'as', 'transaction'))
      return { kind: 'set-transaction', modes: this.#modes(), isSession: true }
    if (this.#accepts('transaction')) return { kind: 'set-transaction', modes: this.#modes(), isSession: false }
    const isLocal = this.#accepts('local')
    if (!isLocal) this.#accepts('session')
    if (this.#acceptsAll('time', 'zone')) return { kind: 'set', name: 'TimeZone', value: this.#value(), isLocal }
    if (this.#accepts('names')) return { kind: 'set', name: 'client_encoding', value: this.#value(), isLocal }
    if (this.#accepts('authorization'))
      return { kind: 'set', name: 'session_authorization', value: this.#value(), isLocal }
    const name = this.#name()
    if (!this.#accepts('to')) this.#expects('=')
    return { kind: 'set', name, value: this.#value(), isLocal }
  }

  /** Undefined for DEFAULT. Several values are one text. */
  #value(): string | undefined {
    if (this.#accepts('default')) return undefined
    const values: string[] = []
    do {
      const token = this.#take()
      if (token.kind === 'symbol') throw this.#unexpected(token)
      values.push(token.text)
    } while (this.#accepts(','))
    // LOCAL is the zone of the server.
    return values.join(', ')
  }

  #show(): Command {
    if (this.#accepts('all')) return { kind: 'show-all' }
    if (this.#acceptsAll('time', 'zone')) return { kind: 'show', name: 'TimeZone' }
    if (this.#acceptsAll('transaction', 'isolation', 'level')) return { kind: 'show', name: 'transaction_isolation' }
    if (this.#acceptsAll('session', 'authorization')) return { kind: 'show', name: 'session_authorization' }
    return { kind: 'show', name: this.#name() }
  }

  #modes(): TransactionModes {
    let modes: TransactionModes = {}
    for (;;) {
      if (this.#acceptsAll('isolation', 'level')) this.#level()
      else if (this.#acceptsAll('read', 'only')) modes = { readOnly: true }
      else if (this.#acceptsAll('read', 'write')) modes = { readOnly: false }
      else if (this.#acceptsAll('not', 'deferrable') || this.#accepts('deferrable')) continue
      else if (this.#index >= this.#tokens.length) return modes
      else this.#expects(',')
    }
  }

  #level(): void {
    if (this.#acceptsAll('read', 'committed') || this.#acceptsAll('read', 'uncommitted')) return
    const level = this.#acceptsAll('repeatable', 'read')
      ? 'REPEATABLE READ'
      : this.#accepts('serializable')
        ? 'SERIALIZABLE'
        : undefined
    if (level === undefined) throw this.#unexpected()
    throw new WireError(
      '0A000',
      `The isolation level ${level} is not supported`,
      'Every statement has its own snapshot: use READ COMMITTED',
    )
  }

  #chain(): boolean {
    if (!this.#accepts('and')) return false
    const isChained = !this.#accepts('no')
    this.#expects('chain')
    return isChained
  }

  #name(): string {
    const token = this.#take()
    if (token.kind !== 'word' && token.kind !== 'name') throw this.#unexpected(token)
    return this.#accepts('.') ? `${token.text}.${this.#name()}` : token.text
  }

  #oneOf(...words: readonly string[]): 'all' | 'plans' | 'sequences' | 'temp' {
    const { text } = this.#take()
    if (!words.includes(text)) throw this.#unexpected(this.#tokens[this.#index - 1])
    return text === 'all' || text === 'plans' || text === 'sequences' ? text : 'temp'
  }

  #take(): CommandToken {
    const token = this.#tokens[this.#index]
    if (token === undefined) throw this.#unexpected()
    this.#index++
    return token
  }

  #sees(word: string): boolean {
    const token = this.#tokens[this.#index]
    return token !== undefined && (token.kind === 'word' || token.kind === 'symbol') && token.text === word
  }

  #accepts(word: string): boolean {
    const isThere = this.#sees(word)
    if (isThere) this.#index++
    return isThere
  }

  #acceptsOne(...words: readonly string[]): void {
    words.some((word) => this.#accepts(word))
  }

  #acceptsAll(...words: readonly string[]): boolean {
    const start = this.#index
    if (words.every((word) => this.#accepts(word))) return true
    this.#index = start
    return false
  }

  #expects(word: string): void {
    if (!this.#accepts(word)) throw this.#unexpected()
  }

  #unexpected(token = this.#tokens[this.#index]): WireError {
    const what = token === undefined ? 'the end' : JSON.stringify(this.#text.slice(token.at, token.end))
    return new WireError('42601', `Unexpected ${what}`, undefined, token?.at ?? this.#text.length)
  }
}
