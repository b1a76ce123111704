/** A streaming session in a terminal: a prompt with history and completion, messages in both directions above it. */
import { createInterface, type Interface } from 'node:readline'
import { CommandError, UsageError } from '../errors.ts'
import { asObject, parseJson } from '../output/json.ts'
import { printable } from '../output/table.ts'
import { askUserPassword, passwordAuth } from '../sign-in/sign-in.ts'
import { completeLine, KNOWN_TOPICS, LINE_HELP, parseLine } from './line.ts'
import type { StreamSession } from './session.ts'

export async function runTerminal(session: StreamSession, clientId: string): Promise<void> {
  const terminal = new Terminal(session, clientId)
  const reason = await Promise.race([terminal.run(), session.ended])
  terminal.close()
  if (reason !== undefined) process.stdout.write(`${reason}\n`)
}

class Terminal {
  readonly #session: StreamSession
  readonly #clientId: string
  readonly #topics = new Set(KNOWN_TOPICS)
  #history: string[] = []
  #nextId = 1
  #lines: Interface | undefined
  #quit: () => void = () => {}

  constructor(session: StreamSession, clientId: string) {
    this.#session = session
    this.#clientId = clientId
  }

  /** Resolves when the user quits. */
  run(): Promise<undefined> {
    this.#open()
    this.#show('·', `connected to ${this.#session.server}; type "help" for a list of commands`)
    this.#session.listen({
      onMessage: (text) => {
        this.#collectTopics(text)
        this.#show('←', text)
      },
      onLost: (reason) => this.#show('·', `${reason}; reconnecting`),
      onResumed: () => this.#show('·', 'connected again'),
    })
    return new Promise((resolve) => {
      this.#quit = () => resolve(undefined)
    })
  }

  close(): void {
    const lines = this.#lines
    this.#lines = undefined
    lines?.close()
  }

  #open(): void {
    const lines = createInterface({
      input: process.stdin,
      output: process.stdout,
      prompt: '> ',
      history: this.#history,
      completer: (line: string) => completeLine(line, this.#topics),
    })
    this.#lines = lines
    lines.on('history', (history: string[]) => {
      this.#history = [...history]
    })
    lines.on('line', (line) => void this.#onLine(line))
    lines.on('SIGINT', () => this.#quit())
    // By Ctrl-D, unless we closed it ourselves to ask for a password.
    lines.on('close', () => {
      if (this.#lines === lines) this.#quit()
    })
    lines.prompt()
  }

  async #onLine(line: string): Promise<void> {
    try {
      await this.#execute(line)
    } catch (error) {
      if (!(error instanceof UsageError || error instanceof CommandError)) throw error
      this.#show('!', error.message)
    }
    this.#lines?.prompt()
  }

  async #execute(line: string): Promise<void> {
    const input = parseLine(line, () => this.#nextId++)
    switch (input.kind) {
      case 'nothing':
        break
      case 'message':
        this.#collectTopics(input.text)
        this.#show('→', input.text)
        this.#session.send(input.text)
        break
      case 'signin':
        await this.#signIn(input.username)
        break
      case 'help':
        process.stdout.write(`${LINE_HELP}\n`)
        break
      case 'topics':
        process.stdout.write(`${[...this.#topics].sort().map(printable).join('\n')}\n`)
        break
      case 'quit':
        this.#quit()
        break
    }
  }

  /** The prompt is closed meanwhile: a password is neither echoed nor kept in the history. */
  async #signIn(username: string): Promise<void> {
    this.close()
    try {
      const password = await askUserPassword(username)
      // A connection keeps its user: another one takes its place.
      await this.#session.connect(passwordAuth({ clientId: this.#clientId, username, password: async () => password }))
      this.#show('·', `signed in as ${username}`)
    } finally {
      this.#open()
    }
  }

  #show(mark: keyof typeof COLOURS, text: string): void {
    const line = `${new Date().toTimeString().slice(0, 8)} ${mark} ${printable(text)}`
    const plain = process.env.NO_COLOR !== undefined || !process.stdout.hasColors?.()
    process.stdout.write(`\r\u001b[K${plain ? line : `\u001b[${COLOURS[mark]}m${line}\u001b[0m`}\n`)
    this.#lines?.prompt(true)
  }

  /** Topics that were seen can be completed. */
  #collectTopics(text: string): void {
    const { Controller: controller, Topic: topic, Data: data } = asObject(parseJson(text))
    if (typeof controller === 'string' && typeof topic === 'string') this.#topics.add(`${controller}/${topic}`)
    if (topic === 'Feeds' && Array.isArray(data)) for (const feed of data) this.#topics.add(`${asObject(feed).Name}/`)
  }
}

const COLOURS = { '→': 36, '←': 32, '!': 31, '·': 2 } as const
