/** Other mail servers: aiosmtpd from PyPI, and Postfix of the system. Each says what is missing where it cannot be started. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { trustedCertificate, writeCertificate } from './certificate.ts'
import { freePort } from './free-port.ts'
import { MAIL_PASSWORD, MAIL_USER } from './smtp-server.ts'
import { until } from './until.ts'

const run = promisify(execFile)

export interface OtherMailServer {
  readonly port: number
  /** The address of each mail that was taken, with its headers and text. */
  received(): Promise<readonly { readonly to: string; readonly text: string }[]>
  /** These recipients are told to come later, and no others. */
  defer(addresses: readonly string[]): Promise<void>
  close(): Promise<void>
}

const VENV = fileURLToPath(new URL('../../node_modules/.cache/aiosmtpd', import.meta.url))

/** The interpreter; a text says what is missing. */
export async function findAiosmtpd(): Promise<{ python: string } | string> {
  const python = join(VENV, 'bin', 'python')
  try {
    if (!existsSync(python)) await run('python3', ['-m', 'venv', VENV])
    await run(python, ['-m', 'pip', '-q', 'install', 'aiosmtpd'])
    return { python }
  } catch {
    return 'needs python3 with venv, and PyPI or its cache, for aiosmtpd'
  }
}

export async function startAiosmtpd(python: string, folder: string, hasTls = true): Promise<OtherMailServer> {
  const port = await freePort()
  const { certFile, keyFile } = await writeCertificate(trustedCertificate(), folder)
  const later = join(folder, 'later.txt')
  await writeFile(later, '')
  const script = fileURLToPath(new URL('aiosmtpd-server.py', import.meta.url))
  const files = hasTls ? [certFile, keyFile] : ['none', 'none']
  const child = spawn(python, [script, String(port), ...files, MAIL_USER, MAIL_PASSWORD, later], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  await until('aiosmtpd is ready', 5_000, () => output.includes('ready'))
  return {
    port,
    received: async () =>
      output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line): { to: string[]; secure: boolean; user: string | null; text: string } => JSON.parse(line))
        .map(({ to, secure, user, text }) => ({ to: to.join(), text: `TLS: ${secure}, user: ${user}\n${text}` })),
    defer: (addresses) => writeFile(later, addresses.join('\n')),
    close: () => ended(child),
  }
}

async function ended(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  child.kill('SIGKILL')
  await closed
}

/** Undefined if it can be started. */
export function missingForPostfix(): string | undefined {
  if (existsSync('/usr/sbin/postfix') && process.getuid?.() === 0) return undefined
  return 'needs root, and the Debian package postfix'
}

/** An instance with its own folders: STARTTLS is required, then AUTH. It delivers into one mailbox. */
export async function startPostfix(folder: string): Promise<OtherMailServer> {
  const port = await freePort()
  const [config, queue, data, boxes] = ['etc', 'queue', 'data', 'boxes'].map((name) => join(folder, name))
  if (config === undefined || queue === undefined || data === undefined || boxes === undefined) throw new Error('')
  for (const path of [config, queue, data, boxes]) await mkdir(path)
  // Its processes run as other users.
  for (const path of [folder, join(folder, '..')]) await chmod(path, 0o755).catch(() => {})
  const { uid, gid } = await readIds('postfix')
  await chown(data, uid, gid)
  await chown(boxes, uid, gid)
  const { certFile, keyFile } = await writeCertificate(trustedCertificate(), config)
  const auth = await startAuth()
  const deferred = join(config, 'later')
  await writeFile(deferred, '')
  await writeFile(
    join(config, 'main.cf'),
    mainConfig({ queue, data, boxes, authPort: auth.port, certFile, keyFile, deferred, uid, gid }),
  )
  await writeFile(join(config, 'master.cf'), masterConfig(port))
  const postfix = (...words: string[]) => run('/usr/sbin/postfix', ['-c', config, ...words])
  await postfix('start')
  return {
    port,
    async received() {
      const names = await readdir(join(boxes, 'all', 'new')).catch(() => [])
      const texts = await Promise.all(names.map((name) => readFile(join(boxes, 'all', 'new', name), 'utf8')))
      return texts.map((text) => ({ to: /^X-Original-To: (.*)$/m.exec(text)?.[1] ?? '', text }))
    },
    async defer(addresses) {
      await writeFile(
        deferred,
        addresses.map((address) => `/^${address.replaceAll('.', '\\.')}$/ 450 later\n`).join(''),
      )
      await postfix('reload')
    },
    async close() {
      await postfix('stop')
      auth.close()
    },
  }
}

/** Checks passwords for Postfix, in the protocol of Dovecot. */
async function startAuth(): Promise<{ readonly port: number; close(): void }> {
  const expected = Buffer.from(`\0${MAIL_USER}\0${MAIL_PASSWORD}`).toString('base64')
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.write(
      'VERSION\t1\t1\nMECH\tPLAIN\tplaintext\nSPID\t1\nCUID\t1\nCOOKIE\t00112233445566778899aabbccddeeff\nDONE\n',
    )
    socket.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n')) {
        const [command, id, ...rest] = line.split('\t')
        if (command !== 'AUTH') continue
        socket.write(rest.includes(`resp=${expected}`) ? `OK\t${id}\tuser=${MAIL_USER}\n` : `FAIL\t${id}\n`)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

async function readIds(user: string): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => Number((await run('id', [flag, user])).stdout)))
  return { uid: uid ?? 0, gid: gid ?? 0 }
}

interface PostfixPlaces
  extends Readonly<Record<'queue' | 'data' | 'boxes' | 'certFile' | 'keyFile' | 'deferred', string>> {
  readonly authPort: number
  readonly uid: number
  readonly gid: number
}

function mainConfig({ queue, data, boxes, authPort, certFile, keyFile, deferred, uid, gid }: PostfixPlaces): string {
  return `compatibility_level = 3.6
queue_directory = ${queue}
data_directory = ${data}
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = gate.test
mydestination =
mynetworks =
maillog_file = ${data}/log
maillog_file_prefixes = ${data}
virtual_mailbox_domains = example.com
virtual_mailbox_base = ${boxes}
virtual_mailbox_maps = static:all/
virtual_minimum_uid = 1
virtual_uid_maps = static:${uid}
virtual_gid_maps = static:${gid}
smtpd_tls_cert_file = ${certFile}
smtpd_tls_key_file = ${keyFile}
smtpd_tls_security_level = encrypt
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:${authPort}
smtpd_tls_auth_only = yes
smtpd_recipient_restrictions = check_recipient_access regexp:${deferred}, check_recipient_access inline:{ refused@example.com=REJECT }, permit_sasl_authenticated, reject
smtpd_relay_restrictions = permit_sasl_authenticated, reject
`
}

function masterConfig(port: number): string {
  const services = [
    [`127.0.0.1:${port}`, 'inet', 'n', 'smtpd'],
    ['pickup', 'unix', 'n', 'pickup'],
    ['cleanup', 'unix', 'n', 'cleanup'],
    ['qmgr', 'unix', 'n', 'qmgr'],
    ['tlsmgr', 'unix', '-', 'tlsmgr'],
    ['rewrite', 'unix', '-', 'trivial-rewrite'],
    ['bounce', 'unix', '-', 'bounce'],
    ['defer', 'unix', '-', 'bounce'],
    ['trace', 'unix', '-', 'bounce'],
    ['virtual', 'unix', '-', 'virtual'],
    ['error', 'unix', '-', 'error'],
    ['retry', 'unix', '-', 'error'],
    ['discard', 'unix', '-', 'discard'],
    ['anvil', 'unix', '-', 'anvil'],
    ['scache', 'unix', '-', 'scache'],
    ['proxymap', 'unix', '-', 'proxymap'],
    ['postlog', 'unix-dgram', 'n', 'postlogd'],
  ] as const
  // Without chroot, and virtual as root, which delivers as the owner of the mailbox.
  return services
    .map(([name, type, isPrivate, command]) => {
      const most = ONE_PROCESS.has(command) ? '1' : UNLIMITED.has(command) ? '0' : '-'
      return `${name} ${type} ${isPrivate} ${command === 'virtual' ? 'n' : '-'} n ${WAKE_UPS.get(command) ?? '-'} ${most} ${command}\n`
    })
    .join('')
}

const ONE_PROCESS: ReadonlySet<string> = new Set(['pickup', 'qmgr', 'tlsmgr', 'anvil', 'scache', 'postlogd'])
const UNLIMITED: ReadonlySet<string> = new Set(['cleanup', 'bounce'])
const WAKE_UPS = new Map([
  ['pickup', '60'],
  ['qmgr', '300'],
  ['tlsmgr', '1000?'],
])
