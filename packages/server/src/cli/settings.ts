/** Loads the settings of a command: flags override the environment, which overrides the settings file and the declarative file. */
import { readFileSync } from 'node:fs'
import { environmentName, flagName, type SettingName } from '../config/config.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import { BadSetting } from '../config/parsers.ts'
import { readSettingsFile, type SettingsFile } from '../config/settings-file.ts'
import type { Arguments } from './args.ts'
import { UsageError } from './errors.ts'

/** A wrong value is an error of usage, wherever it comes from. */
export async function loadSettings(args: Arguments): Promise<LoadedConfig> {
  try {
    return await readSettings(args)
  } catch (error) {
    throw error instanceof BadSetting ? new UsageError(error.message, { cause: error }) : error
  }
}

async function readSettings({ settings: flags }: Arguments): Promise<LoadedConfig> {
  const given = (name: SettingName) => flags[flagName(name)] ?? process.env[environmentName(name)]
  const settingsFile = await openSettingsFile(given('settingsFile') ?? '')
  const sources = { environment: process.env, flags, settingsFile }
  const path = given('config') ?? settingsFile?.variables.get(environmentName('config')) ?? ''
  if (path === '') return loadConfig(sources)
  const { readDeclaration, readSettings } = await import('../declarative/read.ts')
  return loadConfig({ ...sources, file: readSettings(readDeclaration(path), process.env) })
}

/** Variables that are no settings go to the environment: a declarative file may refer to them. */
async function openSettingsFile(path: string): Promise<SettingsFile | undefined> {
  if (path === '') return undefined
  const file = readSettingsFile(path)
  if (file.variables.has(environmentName('settingsFile')))
    throw new BadSetting(`${environmentName('settingsFile')} in ${path}: a file cannot name another file`)
  for (const [name, text] of file.variables) {
    if (name.startsWith('GATEHOUSE_') || Object.hasOwn(process.env, name)) continue
    process.env[name] = text
    if (name === CA_FILE) await trust(text, path)
  }
  return file
}

const CA_FILE = 'NODE_EXTRA_CA_CERTS'

/** Node reads the variable at its start only. */
async function trust(certificates: string, path: string): Promise<void> {
  const tls = await import('node:tls')
  try {
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), readFileSync(certificates, 'utf8')])
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new BadSetting(`${CA_FILE} in ${path}: ${certificates} cannot be used (${reason})`)
  }
}
