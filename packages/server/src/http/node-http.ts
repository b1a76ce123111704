/** node:http and node:https as CommonJS: importing them as ES modules evaluates every export, one of which loads a whole HTTP client. */
export const nodeHttp = process.getBuiltinModule('node:http')
export const nodeHttps = process.getBuiltinModule('node:https')
