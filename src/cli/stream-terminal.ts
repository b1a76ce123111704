/** The terminal client at a terminal: a prompt with history and completion, messages of both directions above it. */
import { createInterface, type Interface } from 'node:readline'
import { Usage } from './command.ts'
import { askPassword } from './password.ts'
import { printable } from './printable.ts'
import { membersOf } from './stream-expectations.ts'
import { completeLine, KNOWN_TOPICS, LINE_HELP, readLine } from './stream-line.ts'
import { type StreamSession, signInWithPassword } from './stream-session.ts'

export async function terminalSession(session: StreamSession, { client }: { readonly client: string }): Promise<void> {
  const terminal = new Terminal(session, client)
  const end = await Promise.race([terminal.run(), session.ended])
  terminal.close()
  if (end !== undefined) process.stdout.write(`${end.text}\n`)
}

class Terminal {
  readonly #session: StreamSession
  readonly #client: string
  readonly #topics = new Set(KNOWN_TOPICS)
  #history: string[] = []
  #nextId = 1
  #lines: Interface | undefined
  #quit: () => void = () => {}

  constructor(session: StreamSession, client: string) {
    this.#session = session
    this.#client = client
  }

  /** Resolves when the user wants to leave. */
  run(): Promise<undefined> {
    this.#open()
    this.#show('·', `connected to ${this.#session.address}; "help" tells what can be typed`)
    this.#session.onMessage((text) => {
      this.#remember(text)
      this.#show('←', text)
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
    lines.on('line', (line) => void this.#perform(line))
    lines.on('SIGINT', () => this.#quit())
    // Closed by Ctrl-D, unless we closed it ourselves to ask for a password.
    lines.on('close', () => {
      if (this.#lines === lines) this.#quit()
    })
    lines.prompt()
  }

  async #perform(line: string): Promise<void> {
    try {
      await this.#obey(line)
    } catch (error) {
      if (!(error instanceof Usage)) throw error
      this.#show('!', error.message)
    }
    this.#lines?.prompt()
  }

  async #obey(line: string): Promise<void> {
    const meaning = readLine(line, () => this.#nextId++)
    switch (meaning.kind) {
      case 'nothing':
        break
      case 'message':
        this.#remember(meaning.text)
        this.#show('→', meaning.text)
        this.#session.send(meaning.text)
        break
      case 'signin':
        await this.#signIn(meaning.username)
        break
      case 'help':
        process.stdout.write(`${LINE_HELP}\n`)
        break
      case 'topics':
        process.stdout.write(`${[...this.#topics].sort().join('\n')}\n`)
        break
      case 'quit':
        this.#quit()
        break
    }
  }

  /** The prompt gives way: a password is neither shown nor kept in the history. */
  async #signIn(username: string): Promise<void> {
    this.close()
    try {
      const password = await askPassword(`Password of ${username}: `)
      const credentials = { client: this.#client, username, password }
      await this.#session.authenticate(await signInWithPassword(this.#session.address, credentials))
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

  /** What was seen can be completed. */
  #remember(text: string): void {
    const { Controller: controller, Topic: topic, Data: data } = membersOf(text)
    if (typeof controller === 'string' && typeof topic === 'string') this.#topics.add(`${controller}/${topic}`)
    if (topic === 'Feeds' && Array.isArray(data)) for (const { Name: name } of data) this.#topics.add(`${name}/`)
  }
}

const COLOURS = { '→': 36, '←': 32, '!': 31, '·': 2 } as const
