/** A small picture of a board: where its tiles are, and what each of them shows. */
import type { Tile, View } from '../../../../client/src/index.ts'
import { useLoad } from '../../ui/index.ts'
import { firstFreeRow } from './layout.ts'
import { readBoard } from './open-board.ts'

const [WIDTH, HEIGHT, GAP] = [240, 132, 4]

/** Read when it is shown: lists have no tiles. */
export function Thumbnail({ id }: { readonly id: string }) {
  const { data } = useLoad((signal) => readBoard(id, signal), [id])
  const tiles = data?.body?.tiles ?? []
  const rows = Math.max(8, firstFreeRow(tiles))
  return (
    <svg class="board-thumbnail" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" focusable="false">
      {tiles.map((tile, index) => (
        <TilePicture key={index} tile={tile} rows={rows} />
      ))}
    </svg>
  )
}

function TilePicture({ tile: { position, view }, rows }: { readonly tile: Tile; readonly rows: number }) {
  const [column, row] = [(WIDTH - GAP) / 12, (HEIGHT - GAP) / rows]
  const [x, y] = [GAP + position.x * column, GAP + position.y * row]
  const [width, height] = [position.w * column - GAP, position.h * row - GAP]
  return (
    <g transform={`translate(${x} ${y})`}>
      <rect class="thumbnail-tile" width={width} height={height} rx="2" />
      <path
        class={`thumbnail-${view}`}
        d={PATHS[view]}
        transform={`translate(4 4) scale(${Math.max(0, width - 8) / 100} ${Math.max(0, height - 8) / 40})`}
        vector-effect="non-scaling-stroke"
      />
    </g>
  )
}

const PATHS: Readonly<Record<View, string>> = {
  table: 'M0 6H100M0 15H100M0 24H100M0 33H100',
  line: 'M0 30 12 24 22 27 36 14 48 20 60 9 72 15 84 5 100 10',
  bar: 'M4 40V18H18V40ZM28 40V8H42V40ZM52 40V24H66V40ZM76 40V13H90V40Z',
  scatter: 'M10 30h2M24 22h2M34 28h2M46 14h2M58 20h2M70 9h2M84 13h2',
  candles: 'M10 10V36M26 6V30M42 12V34M58 4V26M74 8V32M90 2V20',
}
