/** What the shell and a script have in common: the connection, the current options, and the execution of inputs. */

import { DEFAULT_LIMITS, DEFINING, tokenize } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { UsageError } from '../../errors.ts'
import type { Gate } from '../../gate.ts'
import { type Format, runForFormat, runForTable, showResult, summarise } from '../result.ts'
import { helpText, parseCommand } from './commands.ts'
import type { Input } from './input-buffer.ts'

export interface ShellOptions {
  /** Each statement gets those that it names. */
  readonly parameters: ReadonlyMap<string, string>
  readonly format: Format
}

/** Where results go. */
export interface ShellScreen {
  /** A result or a help text. */
  show(text: string): Promise<void>
  /** A result as the server sends it. */
  copy(response: Response): Promise<void>
  /** A remark: a count, a time, a setting. */
  say(text: string): void
  live(statement: string, parameters: ReadonlyMap<string, string>): Promise<void>
}

export class ShellSession {
  readonly #gate: Gate
  readonly #screen: ShellScreen
  readonly #parameters: ReadonlyMap<string, string>
  #format: Format
  #isExpanded = false
  #isTimed = false
  #last: string | undefined

  constructor(gate: Gate, screen: ShellScreen, { parameters, format }: ShellOptions) {
    this.#gate = gate
    this.#screen = screen
    this.#parameters = parameters
    this.#format = format
  }

  /** Resolves with whether to continue. */
  async execute(input: Input, signal: AbortSignal): Promise<boolean> {
    if (input.kind === 'statement') {
      await this.#run(input.text, signal)
      return true
    }
    const command = parseCommand(input.text)
    switch (command.kind) {
      case 'tables':
        await this.#showTable(
          'SELECT name, columns, live, readscope, writescope, description FROM cataloguetables WHERE NOT issystem ORDER BY name',
          signal,
        )
        break
      case 'describe':
        await this.#showTable(`DESCRIBE ${command.table}`, signal)
        break
      case 'timing':
        this.#isTimed = command.on ?? !this.#isTimed
        this.#screen.say(`Timing is ${this.#isTimed ? 'on' : 'off'}.`)
        break
      case 'expanded':
        this.#isExpanded = command.on ?? !this.#isExpanded
        this.#screen.say(`Rows are shown ${this.#isExpanded ? 'as lists of columns' : 'in a table'}.`)
        break
      case 'format':
        this.#format = command.format ?? this.#format
        this.#screen.say(`The format is ${this.#format}.`)
        break
      case 'live': {
        const statement = command.statement ?? this.#last
        if (statement === undefined) throw new UsageError('\\live needs a statement: there was none before it')
        this.#last = statement
        await this.#screen.live(statement, this.#usedParameters(statement))
        break
      }
      case 'help':
        await this.#screen.show(helpText())
        break
      case 'quit':
        return false
    }
    return true
  }

  async #run(statement: string, signal: AbortSignal): Promise<void> {
    this.#last = statement
    const options = { parameters: this.#usedParameters(statement), signal }
    const started = performance.now()
    const remarks: string[] = []
    // Before the result is shown: a user may read it for a while.
    const stop = () => this.#isTimed && remarks.push(`${(performance.now() - started).toFixed(1)} ms`)
    if (this.#format === 'table') {
      const result = await runForTable(this.#gate, statement, options)
      remarks.push(summarise(result))
      stop()
      await this.#screen.show(showResult(result, this.#isExpanded))
    } else {
      const response = await runForFormat(this.#gate, statement, { ...options, format: this.#format })
      stop()
      const licence = this.#format === 'csv' ? response.headers.get('licence') : null
      if (licence !== null) remarks.push(`Licence: ${licence}`)
      await this.#screen.copy(response)
    }
    if (remarks.length > 0) this.#screen.say(remarks.join(' · '))
  }

  async #showTable(statement: string, signal: AbortSignal): Promise<void> {
    const result = await runForTable(this.#gate, statement, { parameters: new Map(), signal })
    await this.#screen.show(showResult(result))
    this.#screen.say(summarise(result))
  }

  #usedParameters(statement: string): ReadonlyMap<string, string> {
    const names = parameterNames(statement)
    return new Map([...this.#parameters].filter(([name]) => names?.has(name) ?? true))
  }
}

/** The parameters that a statement names; undefined if it is malformed, which the server explains. */
export function parameterNames(statement: string): ReadonlySet<string> | undefined {
  try {
    const tokens = tokenize(statement, DEFAULT_LIMITS)
    if (DEFINING.has(tokens[0]?.key ?? '')) return new Set()
    return new Set(tokens.filter(({ kind }) => kind === 'parameter').map(({ text }) => text))
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}
