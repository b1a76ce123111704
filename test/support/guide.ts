/** Follows a guide of docs/guides as its reader would: block by block, in order, in a folder that looks like a clone. */
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Launched, makeClone, root } from './clone.ts'
import { ADMIN, ALICE } from './demo-user.ts'

/** A fenced block. */
export interface Block {
  /** `sh` for commands, `text` for what they print; anything else is a file, or code that is only shown. */
  readonly language: string
  readonly text: string
  /** What the sentence before it says: "save this as `NAME`". */
  readonly file: string | undefined
  /** Of its first line, for messages. */
  readonly line: number
}

export interface GuideOptions {
  /** What the guide writes and what it is here, such as addresses: [['http://localhost:5080', server.issuer]]. */
  readonly replace?: readonly (readonly [written: string, here: string])[]
  /** A folder in whose files the same is replaced, such as that of a sample. */
  readonly copy?: string
  readonly environment?: Readonly<Record<string, string>>
}

export interface Command {
  /** All that it has printed so far. */
  output(): string
  /** Resolves when what it has printed matches; rejects when it ends before. */
  prints(pattern: RegExp): Promise<string>
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** Each method takes the next block, and fails unless that contains the given text: so a test covers them all, in order. */
export interface Guide {
  /** The current folder of the reader at the start: the clone. */
  readonly folder: string
  /** Runs commands to their end. Fails unless they succeed and print what the guide shows in a `text` block after them. */
  run(contains: string, options?: { readonly stdin?: string }): Promise<string>
  /** Starts a command that keeps running, as in a separate terminal, and waits for its output. */
  start(contains: string, ready: RegExp): Promise<Command>
  /** Saves a file under the name that the guide gives it. */
  save(file: string): Promise<void>
  /** Returns a block for the test to do as it says, such as `npm start` when the server is running already. */
  take(contains: string): Block
  /** Fails if blocks are left. */
  finish(): void
  /** Ends what was started, and removes the folder. */
  close(): Promise<void>
}

export function openGuide(name: string, options: GuideOptions = {}): Promise<Guide> {
  return openPage(`docs/guides/${name}.md`, options)
}

/** Any other page whose blocks are steps, such as the README of a sample. */
export async function openPage(page: string, { replace = [], copy, environment }: GuideOptions = {}): Promise<Guide> {
  const blocks = readBlocks(await readFile(join(root, page), 'utf8'))
  assert.ok(blocks.length > 0, `${page} has no blocks`)
  const here = (text: string): string =>
    replace.reduce((changed, [written, instead]) => changed.replaceAll(written, instead), text)
  const clone = await makeClone({ copy, change: here, environment })
  const running = new Set<Command>()
  let next = 0

  /** The reader types the password of a demonstration user at a terminal, which there is not. */
  const launch = async (commands: string): Promise<Launched> => {
    let text = here(commands)
    for (const { username, password } of [ALICE, ADMIN]) {
      if (!text.includes(`--username ${username}`)) continue
      const file = join(clone.folder, '..', `${username}.password`)
      await writeFile(file, password)
      text = text.replaceAll(`--username ${username}`, `--username ${username} --password-file '${file}'`)
    }
    return clone.launch(text)
  }
  const take = (contains: string): Block => {
    const block = blocks[next]
    assert.ok(block, `${page} ends before a block with ${JSON.stringify(contains)}`)
    assert.ok(block.text.includes(contains), `${page}:${block.line} has no ${JSON.stringify(contains)}:\n${block.text}`)
    next++
    return block
  }

  return {
    folder: clone.folder,
    take,
    async run(contains, { stdin = '' } = {}) {
      const block = take(contains)
      const { child, ended, output } = await launch(block.text)
      // A command that reads nothing may have ended already.
      child.stdin?.on('error', () => {})
      child.stdin?.end(stdin)
      const status = await ended
      assert.equal(status, 0, `${page}:${block.line} ended with ${status}:\n${output()}`)
      const shown = blocks[next]
      if (shown?.language === 'text') {
        next++
        assert.match(output(), buildPattern(here(shown.text)), `${page}:${shown.line} shows another output`)
      }
      return output()
    },
    async start(contains, ready) {
      const block = take(contains)
      const command = keepRunning(await launch(block.text), `${page}:${block.line}`)
      running.add(command)
      await command.prints(ready)
      return command
    },
    async save(file) {
      const block = take('')
      assert.equal(block.file, file, `${page}:${block.line} is saved as ${block.file}`)
      await mkdir(dirname(join(clone.folder, file)), { recursive: true })
      await writeFile(join(clone.folder, file), here(block.text))
    },
    finish() {
      const left = blocks[next]
      assert.equal(left, undefined, `${page}:${left?.line} was not run`)
    },
    async close() {
      await Promise.all([...running].map((command) => command.stop()))
      await clone.remove()
    },
  }
}

/** The fenced blocks of a page. */
export function readBlocks(page: string): Block[] {
  return [...page.matchAll(/^```([\w-]*)\n([\s\S]*?)^```$/gm)].map(({ 1: language = '', 2: text = '', index }) => {
    const before = page.slice(0, index)
    const sentence =
      before
        .trimEnd()
        .split(/\n\s*\n/)
        .at(-1) ?? ''
    const [, file] = /\bas\s+`([^`]+)`[^`]*$/.exec(sentence) ?? []
    const isCommand = language === '' || language === 'sh' || language === 'console'
    return {
      language: isCommand ? 'sh' : language,
      text,
      file: isCommand || language === 'text' ? undefined : file,
      line: before.split('\n').length + 1,
    }
  })
}

/** What a guide shows of an output: these lines, in this order, among others; … stands for anything. */
function buildPattern(text: string): RegExp {
  const lines = text.trimEnd().split('\n')
  const escaped = lines.map((line) => RegExp.escape(line.trim()).replaceAll(RegExp.escape('…'), '.*'))
  return new RegExp(escaped.join('[^\\n]*\\n(?:[^\\n]*\\n)*?[^\\n]*'), 'u')
}

function keepRunning({ child, ended, output }: Launched, where: string): Command {
  return {
    output,
    async prints(pattern) {
      const printed = new Promise<void>((resolve) => {
        const look = (): void => {
          if (pattern.test(output())) resolve()
        }
        child.stdout?.on('data', look)
        child.stderr?.on('data', look)
        look()
      })
      const early = ended.then((status) => {
        if (!pattern.test(output())) assert.fail(`${where} ended with ${status}:\n${output()}`)
      })
      await Promise.race([printed, early])
      return output()
    },
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
        process.kill(-child.pid, signal)
      await ended
    },
  }
}
