/** node:http and node:https without their ES module faces: making those touches every export, and one loads a whole HTTP client. */
export const nodeHttp = process.getBuiltinModule('node:http')
export const nodeHttps = process.getBuiltinModule('node:https')
