/** Parses the commands on prepared statements and cursors: PREPARE, EXECUTE, DEALLOCATE, DECLARE, FETCH, MOVE, CLOSE. */
import { oidNamed } from '../../types/oids.ts'
import { WireError } from '../failure.ts'
import { type TextPart, TokenReader } from './token-reader.ts'

export type NamedCommand =
  | { readonly kind: 'prepare'; readonly name: string; readonly types: readonly number[]; readonly statement: TextPart }
  /** `values` is what stands in the parentheses. */
  | { readonly kind: 'execute'; readonly name: string; readonly values: TextPart | undefined }
  | { readonly kind: 'deallocate'; readonly name: string | undefined }
  | {
      readonly kind: 'declare'
      readonly name: string
      readonly isBinary: boolean
      readonly isHoldable: boolean
      readonly statement: TextPart
    }
  /** 0 rows: all. */
  | { readonly kind: 'fetch' | 'move'; readonly name: string; readonly rows: number }
  | { readonly kind: 'close'; readonly name: string | undefined }

export const NAMED_COMMANDS = ['prepare', 'execute', 'deallocate', 'declare', 'fetch', 'move', 'close'] as const

type NamedWord = (typeof NAMED_COMMANDS)[number]

export function isNamedCommand(word: string): word is NamedWord {
  return NAMED_COMMANDS.some((known) => known === word)
}

export function parseNamed(word: NamedWord, text: string): NamedCommand {
  const reader = new NamedReader(text)
  const command = reader.command(word)
  reader.end()
  return command
}

class NamedReader extends TokenReader {
  command(word: NamedWord): NamedCommand {
    switch (word) {
      case 'prepare':
        return this.#prepare()
      case 'execute':
        return { kind: word, name: this.name(), values: this.sees('(') ? this.parenthesised() : undefined }
      case 'deallocate':
        this.accepts('prepare')
        return { kind: word, name: this.accepts('all') ? undefined : this.name() }
      case 'declare':
        return this.#declare()
      case 'fetch':
      case 'move':
        return this.#fetch(word)
      case 'close':
        return { kind: word, name: this.accepts('all') ? undefined : this.name() }
    }
  }

  /** PREPARE name [(type, …)] AS statement */
  #prepare(): NamedCommand {
    const name = this.name()
    const types: number[] = []
    if (this.accepts('(')) {
      do types.push(this.#type())
      while (this.accepts(','))
      this.expects(')')
    }
    this.expects('as')
    return { kind: 'prepare', name, types, statement: this.rest() }
  }

  /** The digits of a type do not matter: a declared type is an encoding. */
  #type(): number {
    const { next } = this
    if (this.acceptsAll('pg_catalog', '.')) return this.#type()
    const words = [next?.kind === 'name' ? `"${this.name()}"` : this.name(), ...this.#words()]
    if (this.sees('(')) this.parenthesised()
    // After the digits: timestamp(3) with time zone.
    words.push(...this.#words())
    const isArray = this.accepts('[')
    if (isArray) {
      if (this.next?.kind === 'number') this.skip()
      this.expects(']')
    }
    const name = words.join(' ')
    const oid = oidNamed(name, isArray)
    if (oid === undefined) throw new WireError('42704', `There is no type ${name}`, undefined, next?.at)
    return oid
  }

  #words(): string[] {
    const words: string[] = []
    while (this.next?.kind === 'word') words.push(this.name())
    return words
  }

  /** DECLARE name [BINARY] [ASENSITIVE | INSENSITIVE] [[NO] SCROLL] CURSOR [{WITH | WITHOUT} HOLD] FOR query */
  #declare(): NamedCommand {
    const name = this.name()
    let isBinary = false
    while (!this.accepts('cursor')) {
      if (this.accepts('binary')) isBinary = true
      else if (this.acceptsOne('asensitive', 'insensitive', 'scroll') === undefined && !this.acceptsAll('no', 'scroll'))
        this.fail()
    }
    const isHoldable = this.acceptsAll('with', 'hold')
    if (!isHoldable) this.acceptsAll('without', 'hold')
    this.expects('for')
    return { kind: 'declare', name, isBinary, isHoldable, statement: this.rest() }
  }

  /** {FETCH | MOVE} [NEXT | [FORWARD] [n | ALL]] [FROM | IN] cursor */
  #fetch(kind: 'fetch' | 'move'): NamedCommand {
    const rows = this.#rows()
    this.acceptsOne('from', 'in')
    return { kind, name: this.name(), rows }
  }

  #rows(): number {
    if (this.accepts('next')) return 1
    const backward = this.acceptsOne('prior', 'first', 'last', 'absolute', 'relative', 'backward')
    if (backward !== undefined) throw onlyForward()
    this.accepts('forward')
    if (this.accepts('all')) return 0
    if (this.next?.kind !== 'number') return 1
    const token = this.take()
    const rows = Number(token.text)
    if (!Number.isSafeInteger(rows)) this.fail(token)
    if (rows <= 0) throw onlyForward()
    return rows
  }
}

function onlyForward(): WireError {
  return new WireError('0A000', 'Cursors only move forward', 'Use NEXT, FORWARD n or ALL')
}
