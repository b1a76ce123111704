// The declarations of `gatehouse-server/controller`, with those of the package of this repository that they refer to.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const OPTIONS = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--incremental', 'false']
const ENTRY = 'server/src/streaming/topics/controller'
const PROTOCOL = 'protocol/src/index'

/** Writes them below `folder`, with `controller.d.ts` as the entry. */
export function writeControllerTypes(root, folder) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const packages = join(root, 'packages')
  const project = join(folder, 'tsconfig.json')
  const files = [ENTRY, PROTOCOL].map((name) => join(packages, `${name}.ts`))
  // Not through node_modules: the compiler writes no declarations for what it finds there.
  const compilerOptions = { paths: { 'gatehouse-protocol': [files[1]] } }
  writeFileSync(project, JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }))
  execFileSync(process.execPath, [compiler, '-p', project, ...OPTIONS, '--rootDir', packages, '--outDir', folder])
  for (const name of readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.d.ts'))) {
    const file = join(folder, name)
    const protocol = relative(dirname(file), join(folder, `${PROTOCOL}.js`))
    writeFileSync(
      file,
      readFileSync(file, 'utf8')
        .replaceAll("'gatehouse-protocol'", `'${protocol}'`)
        .replaceAll(/(from '\.[^']*|import\('\.[^']*)\.ts'/g, "$1.js'"),
    )
  }
  writeFileSync(join(folder, 'controller.d.ts'), `export * from './${ENTRY}.js'\n`)
}
