/** Preloaded with --import: on SIGUSR2 the process says on stderr which packages it has loaded. */
import { registerHooks } from 'node:module'

const packages = new Set<string>()

registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? []
    if (name !== undefined) packages.add(name)
    return next(url, context)
  },
})

process.on('SIGUSR2', () => process.stderr.write(`loaded ${[...packages].sort().join(' ')}\n`))
