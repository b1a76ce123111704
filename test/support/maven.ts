/** Java programs for long runs, compiled by Maven, which fetches their libraries from Maven Central. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Why programs cannot be compiled here, or false. */
export function lacksMaven(): string | false {
  const isInstalled = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, 'mvn')))
  return isInstalled ? false : 'needs Maven (mvn) and a JDK'
}

/** Compiles the project in a folder. Resolves with the class path for a program that runs in that folder. */
export async function compileWithMaven(folder: string): Promise<string> {
  const goals = ['-q', '-B', 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=target/classpath']
  execFileSync('mvn', goals, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return `target/classes:${await readFile(join(folder, 'target/classpath'), 'utf8')}`
}
