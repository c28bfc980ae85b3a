import type { Dialect, Renderer } from './render.ts'
import type { User, World } from './world.ts'

/** What a route of the stand-in is given. */
export interface Asked {
  url: URL
  world: World
  render: Renderer
  dialect: Dialect
  maxPage: number
  viewer: User
}
