/** The query shell: a prompt with history and completion, statements of several lines, and commands with a backslash. */
import { createInterface, type Interface } from 'node:readline'
import { CommandError, UsageError } from '../../errors.ts'
import { explained, type Gate } from '../../gate.ts'
import { printableLines } from '../../output/table.ts'
import { showLive } from '../live/live.ts'
import { readBody } from '../result.ts'
import { Catalogue } from './catalogue.ts'
import { complete } from './complete.ts'
import { CommandHistory, MAX_ENTRIES } from './history.ts'
import { type Input, InputBuffer, inOneLine, type Place } from './input-buffer.ts'
import { needsPager, page, type Terminal } from './pager.ts'
import { type ShellOptions, type ShellScreen, ShellSession } from './session.ts'

const PROMPT = 'gatehouse> '
/** For an incomplete statement: the construct that is still open. */
const CONTINUATIONS: Readonly<Record<Place, string>> = {
  code: '       ... ',
  'line-comment': '       ... ',
  text: "       '.. ",
  quoted: '       ".. ',
  'block-comment': '       *.. ',
}

export function runShell(
  gate: Gate,
  options: ShellOptions,
  terminal: Terminal = { input: process.stdin, output: process.stdout },
  history = new CommandHistory(),
): Promise<void> {
  return new Shell(gate, options, terminal, history).run()
}

class Shell {
  readonly #gate: Gate
  readonly #terminal: Terminal
  readonly #history: CommandHistory
  readonly #session: ShellSession
  readonly #catalogue: Catalogue
  readonly #buffer = new InputBuffer()
  /** The newest first; an entry is a statement or a command, not a line. */
  #entries: readonly string[]
  /** The history of readline, which follows the entries. */
  #recalled: string[] = []
  /** The statement began with a blank and is not kept. */
  #isPrivate = false
  #lines: Interface | undefined
  /** Lines that were typed or pasted and wait for the ones before; undefined is the end of the input. */
  #waiting: (string | undefined)[] = []
  #wake: () => void = () => {}
  #running: AbortController | undefined

  constructor(gate: Gate, options: ShellOptions, terminal: Terminal, history: CommandHistory) {
    this.#gate = gate
    this.#terminal = terminal
    this.#history = history
    this.#entries = history.read()
    this.#catalogue = new Catalogue(gate)
    this.#session = new ShellSession(gate, this.#screen(), options)
  }

  async run(): Promise<void> {
    this.#say(`Connected to ${this.#gate.url}. \\? shows help, \\q quits.`)
    this.#open()
    void this.#catalogue.refresh()
    try {
      for (let line = await this.#nextLine(); line !== undefined; line = await this.#nextLine()) {
        if (!this.#buffer.continues) this.#isPrivate = /^\s/.test(line)
        for (const input of this.#buffer.push(line)) {
          this.#remember(input)
          if (!(await this.#execute(input))) return
        }
      }
      this.#terminal.output.write('\n')
    } finally {
      this.#catalogue.close()
      this.#close()
    }
  }

  #open(): void {
    const { input, output } = this.#terminal
    const lines = createInterface({
      input,
      output,
      terminal: true,
      history: [...this.#entries],
      historySize: MAX_ENTRIES,
      completer: (line: string) => this.#complete(line),
    })
    this.#lines = lines
    lines.on('history', (history: string[]) => {
      this.#recalled = history
      this.#recall()
    })
    lines.on('line', (line) => this.#enqueue(line))
    lines.on('SIGINT', () => this.#interrupt(lines))
    // By Ctrl-D, unless we closed it ourselves.
    lines.on('close', () => {
      if (this.#lines !== lines) return
      this.#lines = undefined
      this.#enqueue(undefined)
    })
  }

  #close(): void {
    const lines = this.#lines
    this.#lines = undefined
    lines?.close()
  }

  /** Runs something that needs the keyboard exclusively. */
  async #withoutPrompt(run: () => Promise<void>): Promise<void> {
    this.#close()
    try {
      await run()
    } finally {
      this.#open()
    }
  }

  #enqueue(line: string | undefined): void {
    this.#waiting.push(line)
    this.#wake()
  }

  async #nextLine(): Promise<string | undefined> {
    this.#lines?.setPrompt(this.#buffer.continues ? CONTINUATIONS[this.#buffer.place] : PROMPT)
    this.#lines?.prompt(true)
    if (this.#waiting.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    return this.#waiting.shift()
  }

  /** Ctrl-C cancels the running statement; at a prompt it drops what was typed. */
  #interrupt(lines: Interface): void {
    this.#waiting = this.#waiting.filter((line) => line === undefined)
    if (this.#running !== undefined) {
      this.#running.abort()
      return
    }
    this.#buffer.clear()
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' })
    this.#terminal.output.write('^C\n')
    lines.setPrompt(PROMPT)
    lines.prompt()
  }

  /** The lines of a statement become one entry. */
  #remember({ kind, text }: Input): void {
    const line = kind === 'command' ? text : inOneLine(text)
    if (this.#isPrivate || line === undefined) return
    const entry = kind === 'command' ? line : `${line};`
    if (entry !== this.#entries[0]) this.#history.add(entry)
    this.#entries = [entry, ...this.#entries.filter((other) => other !== entry)].slice(0, MAX_ENTRIES)
    this.#recall()
  }

  #recall(): void {
    this.#recalled.splice(0, this.#recalled.length, ...this.#entries)
  }

  /** Resolves with whether to continue. */
  async #execute(input: Input): Promise<boolean> {
    const running = new AbortController()
    this.#running = running
    try {
      const goesOn = await this.#session.execute(input, running.signal)
      if (/^(create|alter|drop)\b/i.test(input.text)) void this.#catalogue.refresh()
      return goesOn
    } catch (failure) {
      const error = explained(failure)
      if (running.signal.aborted) this.#say('Cancelled.')
      else if (error instanceof CommandError || error instanceof UsageError) this.#say(error.message)
      else throw error
      return true
    } finally {
      this.#running = undefined
    }
  }

  #complete(line: string): [string[], string] {
    const { text } = this.#buffer
    return complete(text === '' ? line : `${text}\n${line}`, this.#catalogue.tables)
  }

  #screen(): ShellScreen {
    return {
      show: (text) => this.#show(text),
      copy: async (response) => this.#show(printableLines((await readBody(response)).replaceAll('\r\n', '\n'))),
      say: (remark) => this.#say(remark),
      live: (statement, parameters) => this.#withoutPrompt(() => showLive(this.#gate, { statement, parameters })),
    }
  }

  async #show(text: string): Promise<void> {
    if (needsPager(text, this.#terminal)) return this.#withoutPrompt(() => page(text, this.#terminal))
    this.#terminal.output.write(text === '' || text.endsWith('\n') ? text : `${text}\n`)
  }

  #say(text: string): void {
    this.#terminal.output.write(`${printableLines(text)}\n`)
  }
}
