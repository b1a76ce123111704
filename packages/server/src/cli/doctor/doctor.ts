/** `gatehouse doctor`: checks an installation and says how to fix what is wrong. */
import type { Config } from '../../config/config.ts'
import { findBackupUrl } from '../../server/replication.ts'
import { createNodes } from '../../store/cluster/nodes.ts'
import { SEALED_KEY } from '../../store/keys/key-rotation.ts'
import { findMasterKey } from '../../store/keys/master-key.ts'
import { unseal } from '../../store/keys/opaque.ts'
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { printableLines } from '../output/table.ts'
import { loadSettings } from '../settings.ts'
import { checkCertificate } from './certificate.ts'
import { checkContent } from './content.ts'
import { checkDatabase, checkUnused } from './database.ts'
import { collect, type Finding, fault } from './finding.ts'
import { checkFolder } from './folder.ts'
import { checkInstallation } from './installation.ts'
import { checkMail } from './mail.ts'
import { checkOpenFiles } from './open-files.ts'
import { checkProviders } from './providers.ts'
import { readableFolder } from './readable-folder.ts'
import { checkReplication } from './replication.ts'
import { checkServers } from './servers.ts'
import { checkSettings } from './settings.ts'

/** Findings about a folder whose databases are not looked into. */
const UNUSABLE: ReadonlySet<string> = new Set(['folder.missing', 'folder.foreign', 'folder.damaged'])
const LABELS = { ok: 'ok     ', warning: 'warning', fault: 'FAULT  ' } as const

export async function doctor(args: Arguments): Promise<void> {
  const findings = await collectFindings(args)
  if (args.has('--json')) process.stdout.write(`${JSON.stringify({ findings }, null, 2)}\n`)
  else for (const finding of findings) process.stdout.write(printableLines(describe(finding)))
  if (findings.some(({ level }) => level === 'fault')) process.exitCode = 1
}

async function collectFindings(args: Arguments): Promise<readonly Finding[]> {
  try {
    return await examine((await loadSettings(args)).config)
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof Error && error.name === 'BadDeclaration')) throw error
    return [fault('settings.unreadable', error.message, 'Correct the setting; "gatehouse config" lists them.')]
  }
}

function describe({ level, code, message, mend }: Finding): string {
  return `${LABELS[level]}  ${message} [${code}]\n${mend === undefined ? '' : `         → ${mend}\n`}`
}

export async function examine(config: Config, now: () => number = Date.now): Promise<readonly Finding[]> {
  const folder = checkFolder(config.data)
  const readable = await readableFolder(config.data)
  const backupUrl = await findBackupUrl(config)
  try {
    const stored = await examineStored({ ...config, data: readable.path }, folder, now)
    return collect([
      ...(await checkInstallation(config)),
      ...checkSettings(config),
      ...folder,
      ...checkCertificate(config, now()),
      checkUnused(config),
      ...(await checkServers(config, backupUrl)),
      ...(await checkMail(config)),
      ...(await checkReplication(config, backupUrl, now())),
      ...stored.map((finding) => ({ ...finding, message: finding.message.replaceAll(readable.path, config.data) })),
    ])
  } finally {
    await readable.dispose()
  }
}

async function examineStored(
  config: Config,
  folder: readonly Finding[],
  now: () => number,
): Promise<readonly Finding[]> {
  const { findings, database } = await checkDatabase(config, now)
  try {
    const isUnusable = folder.some(({ code }) => UNUSABLE.has(code))
    const content =
      database === undefined || isUnusable
        ? []
        : [
            ...(await checkContent(database, { config, now: now(), unseal: unsealer(config) })),
            ...(await checkProviders(database, config, now())),
          ]
    const processes = database === undefined ? [] : await createNodes(database, now).localProcesses()
    return collect([checkOpenFiles(config, processes), ...findings, ...content])
  } finally {
    await database?.close()
  }
}

/** Never creates a missing master key: a new one would hide that the old one is lost. */
function unsealer(config: Config): ((sealed: string) => void) | undefined {
  const key = findMasterKey(config.data, config.masterKey)?.derive('signing keys')
  return key && ((sealed) => void unseal(sealed, key, SEALED_KEY))
}
