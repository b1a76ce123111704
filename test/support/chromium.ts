/** A real Chromium from npm, unpacked once, kept off the network: every name leads to loopback. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { writeFontconfig } from './fontconfig.ts'

export interface TestBrowser {
  /** A fresh profile: no cookies, no cache. */
  newContext(options?: { dark?: boolean; script?: boolean; width?: number }): Promise<BrowserContext>
  stop(): Promise<void>
}

export interface BrowserOptions {
  /** Ports of localhost, as the pages write them, and where they are here. */
  readonly ports?: Readonly<Record<number, number>>
}

/** A browser of its own where it has ports of its own. The others of a process share one: only their profiles differ. */
export async function startChromium({ ports }: BrowserOptions = {}): Promise<TestBrowser> {
  if (ports === undefined) return share(await openShared())
  const browser = await launch(ports)
  return share({ browser, leave: () => browser.close() })
}

interface OpenBrowser {
  readonly browser: Browser
  leave(): Promise<void>
}

function share({ browser, leave }: OpenBrowser): TestBrowser {
  const contexts: BrowserContext[] = []
  return {
    async newContext({ dark = false, script = true, width = 1280 } = {}) {
      const context = await browser.newContext({
        ignoreHTTPSErrors: true,
        // Without a language in the environment Chromium has one that is not valid.
        locale: 'en-US',
        javaScriptEnabled: script,
        colorScheme: dark ? 'dark' : 'light',
        reducedMotion: 'reduce',
        viewport: { width, height: 800 },
      })
      context.setDefaultTimeout(30_000)
      contexts.push(context)
      return context
    },
    async stop() {
      await Promise.all(contexts.map((context) => context.close()))
      await leave()
    },
  }
}

/** How long the shared browser waits for the next file of the process. */
const IDLE_MS = 2000
let shared: Promise<Browser> | undefined
let users = 0
let idle: NodeJS.Timeout | undefined

async function openShared(): Promise<OpenBrowser> {
  clearTimeout(idle)
  users += 1
  shared ??= launch()
  return {
    browser: await shared,
    async leave() {
      users -= 1
      if (users === 0) idle = setTimeout(closeShared, IDLE_MS)
    },
  }
}

async function closeShared(): Promise<void> {
  const closing = shared
  shared = undefined
  await (await closing)?.close()
}

async function launch(ports: Readonly<Record<number, number>> = {}): Promise<Browser> {
  const moved = Object.entries(ports).map(([port, here]) => `MAP localhost:${port} localhost:${here}`)
  const rules = `--host-resolver-rules=${[...moved, 'MAP * 127.0.0.1'].join(',')}`
  const args = [...ARGUMENTS, rules]
  return chromium.launch({ ...(await findExecutable()), chromiumSandbox: false, args })
}

/** Everything that went wrong on a page: script errors, blocked resources, messages of the security policy. */
export function findComplaints(page: Page): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  return complaints
}

export type { Browser, BrowserContext, Page }

const ARGUMENTS = [
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--no-pings',
  '--no-proxy-server',
]

const PACKAGE = createRequire(import.meta.url).resolve('@sparticuz/chromium')
const MODULES = PACKAGE.slice(0, PACKAGE.lastIndexOf('@sparticuz'))
const CACHE = join(MODULES, '.cache')

/** The one from npm is for Linux on x64; elsewhere TEST_CHROMIUM names a browser. */
async function findExecutable(): Promise<{ executablePath: string; env?: Record<string, string | undefined> }> {
  const own = process.env.TEST_CHROMIUM
  if (own !== undefined) return { executablePath: own }
  const folder = await unpackOnce()
  return { executablePath: join(folder, 'chromium'), env: { ...process.env, ...(await readEnvironment(folder)) } }
}

/**
 * The libraries that a bare Debian lacks (NSS, expat) come with the browser. So does a fonts.conf, but it names a folder
 * outside the project, and without any font Chromium crashes on the first page that needs a fallback: we write our own.
 */
async function readEnvironment(folder: string): Promise<Record<string, string>> {
  const libraries = [join(folder, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH ?? ''].filter((path) => path !== '')
  return { LD_LIBRARY_PATH: libraries.join(':'), HOME: folder, ...(await writeFontconfig(CACHE)) }
}

/** Test files start at the same time: each unpacks into a separate folder, and the first to finish renames it. */
async function unpackOnce(): Promise<string> {
  const about = await readFile(join(MODULES, '@sparticuz', 'chromium', 'package.json'), 'utf8')
  const { version } = JSON.parse(about) as { version: string }
  const folder = join(CACHE, `gatehouse-chromium-${version}`)
  if (existsSync(join(folder, 'chromium'))) return folder
  await mkdir(CACHE, { recursive: true })
  const own = await mkdtemp(join(CACHE, 'unpacking-'))
  // The package unpacks its libraries only where it believes to be in AWS Lambda, and always into TMPDIR.
  const script = `import chromium from ${JSON.stringify(PACKAGE)}; await chromium.executablePath()`
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, TMPDIR: own, AWS_LAMBDA_JS_RUNTIME: 'nodejs24.x' },
  })
  try {
    await rename(own, folder)
  } catch (error) {
    await rm(own, { recursive: true, force: true })
    if (!existsSync(join(folder, 'chromium'))) throw error
  }
  return folder
}
