/** Follows a guide of docs/guides as its reader would: block by block, in order, in a folder that looks like a clone. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

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
  /** Starts a command that goes on, as in a terminal of its own, and waits for what it prints. */
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

const root = fileURLToPath(new URL('../../', import.meta.url))

export async function openGuide(name: string, { replace = [], environment = {} }: GuideOptions = {}): Promise<Guide> {
  const page = `docs/guides/${name}.md`
  const blocks = readBlocks(await readFile(join(root, page), 'utf8'))
  assert.ok(blocks.length > 0, `${page} has no blocks`)
  const own = await mkdtemp(join(tmpdir(), 'gatehouse-guide-'))
  const folder = await makeClone(own)
  const shell = { own, folder, environment: { ...(await makeEnvironment(own)), ...environment } }
  const running = new Set<Command>()
  let next = 0

  const here = (text: string): string =>
    replace.reduce((changed, [written, instead]) => changed.replaceAll(written, instead), text)
  const take = (contains: string): Block => {
    const block = blocks[next]
    assert.ok(block, `${page} ends before a block with ${JSON.stringify(contains)}`)
    assert.ok(block.text.includes(contains), `${page}:${block.line} has no ${JSON.stringify(contains)}:\n${block.text}`)
    next++
    return block
  }

  return {
    folder,
    take,
    async run(contains, { stdin = '' } = {}) {
      const block = take(contains)
      const { child, ended, output } = launch(shell, here(block.text))
      child.stdin?.end(stdin)
      const status = await ended
      assert.equal(status, 0, `${page}:${block.line} ended with ${status}:\n${output()}`)
      const shown = blocks[next]
      if (shown?.language === 'text') {
        next++
        assert.match(output(), patternOf(here(shown.text)), `${page}:${shown.line} shows another output`)
      }
      return output()
    },
    async start(contains, ready) {
      const block = take(contains)
      const command = keepRunning(launch(shell, here(block.text)), `${page}:${block.line}`)
      running.add(command)
      await command.prints(ready)
      return command
    },
    async save(file) {
      const block = take('')
      assert.equal(block.file, file, `${page}:${block.line} is saved as ${block.file}`)
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await writeFile(join(folder, file), here(block.text))
    },
    finish() {
      const left = blocks[next]
      assert.equal(left, undefined, `${page}:${left?.line} was not run`)
    },
    async close() {
      await Promise.all([...running].map((command) => command.stop()))
      await rm(own, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
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
function patternOf(text: string): RegExp {
  const lines = text.trimEnd().split('\n')
  const escaped = lines.map((line) => RegExp.escape(line.trim()).replaceAll(RegExp.escape('…'), '.*'))
  return new RegExp(escaped.join('[^\\n]*\\n(?:[^\\n]*\\n)*?[^\\n]*'), 'u')
}

/** The files of the repository, in a folder to which a guide may add its own. */
async function makeClone(own: string): Promise<string> {
  const folder = join(own, 'gatehouse')
  await mkdir(folder)
  for (const entry of await readdir(root))
    if (!['.git', 'data'].includes(entry)) await symlink(join(root, entry), join(folder, entry))
  return folder
}

/** `npx gatehouse` is the program of this repository, without the second that npx takes; logins are kept apart. */
async function makeEnvironment(own: string): Promise<Record<string, string>> {
  const programs = join(own, 'bin')
  await mkdir(programs)
  const npx = `#!/bin/sh\n[ "$1" = gatehouse ] || { echo "npx $1 is not part of this repository" >&2; exit 1; }\nshift\nexec '${process.execPath}' '${join(root, 'bin/gatehouse.js')}' "$@"\n`
  await writeFile(join(programs, 'npx'), npx)
  await chmod(join(programs, 'npx'), 0o755)
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'))
  return {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    PATH: [programs, dirname(process.execPath), process.env.PATH ?? ''].join(delimiter),
    HOME: own,
    XDG_CONFIG_HOME: join(own, 'config'),
  }
}

interface Shell {
  readonly own: string
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
}

interface Launched {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  output(): string
}

/** In a shell that remembers the folder and the variables of the commands before. */
function launch({ own, folder, environment }: Shell, commands: string): Launched {
  const [variables, place] = [join(own, 'variables'), join(own, 'place')]
  const script = `set -ae
[ ! -f '${variables}' ] || . '${variables}'
[ ! -f '${place}' ] || cd "$(cat '${place}')"
trap 'status=$?; export -p > "${variables}"; pwd > "${place}"; exit $status' EXIT
${commands}`
  // A process group of its own, so that all of a pipeline can be ended.
  const child = spawn('sh', ['-c', script], { cwd: folder, env: environment, detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { child, ended, output: () => output }
}

function keepRunning({ child, ended, output }: Launched, where: string): Command {
  return {
    output,
    async prints(pattern) {
      let look = (): void => {}
      const printed = new Promise<void>((resolve) => {
        look = () => pattern.test(output()) && resolve()
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
