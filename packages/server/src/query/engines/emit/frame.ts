/** Emits the frame of a window. */
import type { Frame, FrameBound } from 'gatehouse-iql'
import type { Sql } from './dialect.ts'

export function emitFrame({ unit, start, end }: Frame): Sql {
  return `${unit.toUpperCase()} BETWEEN ${emitEdge(start)} AND ${emitEdge(end)}`
}

function emitEdge(edge: FrameBound): Sql {
  const words = edge.kind.replace('-', ' ').toUpperCase()
  return 'rows' in edge ? `${edge.rows} ${words}` : words
}
