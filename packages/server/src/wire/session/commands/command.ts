/** Commands of the session, which no engine runs: transactions, settings, prepared statements, cursors, COPY. */
import { type CopyCommand, parseCopy } from '../copy/copy-command.ts'
import { WireError } from '../failure.ts'
import { isNamedCommand, NAMED_COMMANDS, type NamedCommand, parseNamed } from './named-command.ts'
import { TokenReader } from './token-reader.ts'

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
  /** Accepted without effect: there are no notifications to end. */
  | { readonly kind: 'nothing'; readonly tag: string }
  | CopyCommand
  | NamedCommand

export interface TransactionModes {
  readonly readOnly?: boolean
}

/** Undefined for a statement of IQL. */
export function parseCommand(text: string): Command | undefined {
  const word = FIRST_WORD.exec(text)?.[1]?.toLowerCase()
  if (word === undefined || !COMMANDS.has(word)) return undefined
  if (word === 'copy') return parseCopy(text)
  if (isNamedCommand(word)) return parseNamed(word, text)
  if (text.length > MAX_LENGTH)
    throw new WireError('54000', `${word.toUpperCase()} has at most ${MAX_LENGTH} characters`)
  return new CommandParser(text).parse(word)
}

/** Of a command without a statement. It is read at once, on the event loop. */
const MAX_LENGTH = 65_536

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
  'copy',
  'unlisten',
  ...NAMED_COMMANDS,
])

class CommandParser extends TokenReader {
  parse(word: string): Command | undefined {
    if (word === 'show' && (this.sees('tables') || this.sees('columns'))) return undefined
    const command = this.#command(word)
    this.end()
    return command
  }

  #command(word: string): Command {
    switch (word) {
      case 'begin':
        this.acceptsOne('work', 'transaction')
        return { kind: 'begin', tag: 'BEGIN', modes: this.#modes() }
      case 'start':
        this.expects('transaction')
        return { kind: 'begin', tag: 'START TRANSACTION', modes: this.#modes() }
      case 'commit':
      case 'end':
        this.acceptsOne('work', 'transaction')
        return { kind: 'commit', isChained: this.#chain() }
      case 'rollback':
      case 'abort':
        this.acceptsOne('work', 'transaction')
        if (!this.accepts('to')) return { kind: 'rollback', isChained: this.#chain() }
        this.accepts('savepoint')
        return { kind: 'rollback-to', name: this.name() }
      case 'savepoint':
        return { kind: 'savepoint', name: this.name() }
      case 'release':
        this.accepts('savepoint')
        return { kind: 'release', name: this.name() }
      case 'set':
        return this.#set()
      case 'show':
        return this.#show()
      case 'reset':
        if (this.accepts('all')) return { kind: 'reset', name: undefined }
        if (this.acceptsAll('time', 'zone')) return { kind: 'reset', name: 'TimeZone' }
        return { kind: 'reset', name: this.#setting() }
      case 'discard':
        return { kind: 'discard', what: this.#takeWord('all', 'plans', 'sequences', 'temp', 'temporary') }
      default:
        this.skip()
        return { kind: 'nothing', tag: 'UNLISTEN' }
    }
  }

  /** SET [SESSION | LOCAL] name (TO | =) value, and its special forms. */
  #set(): Command {
    if (this.acceptsAll('session', 'characteristics', 'as', 'transaction'))
      return { kind: 'set-transaction', modes: this.#modes(), isSession: true }
    if (this.accepts('transaction')) return { kind: 'set-transaction', modes: this.#modes(), isSession: false }
    const isLocal = this.accepts('local')
    if (!isLocal) this.accepts('session')
    if (this.acceptsAll('time', 'zone')) return { kind: 'set', name: 'TimeZone', value: this.#value(), isLocal }
    if (this.accepts('names')) return { kind: 'set', name: 'client_encoding', value: this.#value(), isLocal }
    if (this.accepts('authorization'))
      return { kind: 'set', name: 'session_authorization', value: this.#value(), isLocal }
    const name = this.#setting()
    if (!this.accepts('to')) this.expects('=')
    return { kind: 'set', name, value: this.#value(), isLocal }
  }

  /** Undefined for DEFAULT. Several values are one text. */
  #value(): string | undefined {
    if (this.accepts('default')) return undefined
    const values: string[] = []
    do {
      const token = this.take()
      if (token.kind === 'symbol') this.fail(token)
      values.push(token.text)
    } while (this.accepts(','))
    // LOCAL is the zone of the server.
    return values.join(', ')
  }

  #show(): Command {
    if (this.accepts('all')) return { kind: 'show-all' }
    if (this.acceptsAll('time', 'zone')) return { kind: 'show', name: 'TimeZone' }
    if (this.acceptsAll('transaction', 'isolation', 'level')) return { kind: 'show', name: 'transaction_isolation' }
    if (this.acceptsAll('session', 'authorization')) return { kind: 'show', name: 'session_authorization' }
    return { kind: 'show', name: this.#setting() }
  }

  #modes(): TransactionModes {
    let modes: TransactionModes = {}
    for (;;) {
      if (this.acceptsAll('isolation', 'level')) this.#level()
      else if (this.acceptsAll('read', 'only')) modes = { readOnly: true }
      else if (this.acceptsAll('read', 'write')) modes = { readOnly: false }
      else if (this.acceptsAll('not', 'deferrable') || this.accepts('deferrable')) continue
      else if (this.next === undefined) return modes
      else this.expects(',')
    }
  }

  #level(): void {
    if (this.acceptsAll('read', 'committed') || this.acceptsAll('read', 'uncommitted')) return
    const level = this.acceptsAll('repeatable', 'read')
      ? 'REPEATABLE READ'
      : this.accepts('serializable')
        ? 'SERIALIZABLE'
        : undefined
    if (level === undefined) this.fail()
    throw new WireError(
      '0A000',
      `The isolation level ${level} is not supported`,
      'Every statement has its own snapshot: use READ COMMITTED',
    )
  }

  #chain(): boolean {
    if (!this.accepts('and')) return false
    const isChained = !this.accepts('no')
    this.expects('chain')
    return isChained
  }

  /** Settings of extensions have a prefix. */
  #setting(): string {
    const name = this.name()
    return this.accepts('.') ? `${name}.${this.#setting()}` : name
  }

  #takeWord(...words: readonly string[]): 'all' | 'plans' | 'sequences' | 'temp' {
    const token = this.take()
    const { text } = token
    if (!words.includes(text)) this.fail(token)
    return text === 'all' || text === 'plans' || text === 'sequences' ? text : 'temp'
  }
}
