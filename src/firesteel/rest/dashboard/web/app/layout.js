// Where the vertices of a job are drawn: by level from left to right, or from top to bottom where there is no room.
import { Graph, layout } from "../vendor/dagre.js";

/**
 * @param vertices with `id`, `level`, `inputs`; @param width of a box; @param heightOf a vertex.
 * @return `{boxes: Map id -> {x, y}, edges: [{from, to, input, points}], width, height}`
 */
export function placed(vertices, width, heightOf, across) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: across ? "LR" : "TB", nodesep: across ? 26 : 18, ranksep: across ? 84 : 54, edgesep: 18, marginx: 2, marginy: 2 });
  graph.setDefaultEdgeLabel(() => ({}));
  const levels = new Map(vertices.map((vertex) => [vertex.id, vertex.level]));
  for (const vertex of vertices) graph.setNode(vertex.id, { width, height: heightOf(vertex) });
  for (const vertex of vertices) {
    vertex.inputs.forEach((input, n) => {
      if (!levels.has(input.id)) return;
      // As far apart as their levels: what runs in one stage stands in one column.
      graph.setEdge(input.id, vertex.id, { minlen: Math.max(1, vertex.level - levels.get(input.id)), input }, `${n}`);
    });
  }
  layout(graph);
  const boxes = new Map(graph.nodes().map((id) => {
    const node = graph.node(id);
    return [id, { x: node.x - width / 2, y: node.y - node.height / 2 }];
  }));
  const edges = graph.edges().map((edge) => ({ from: edge.v, to: edge.w, input: graph.edge(edge).input, points: graph.edge(edge).points }));
  const whole = graph.graph();
  return { boxes, edges, width: Math.max(width, whole.width || 0), height: whole.height || 0 };
}

/** A smooth line through points. */
export function path(points, across) {
  const [first, ...rest] = points;
  let found = `M${first.x} ${first.y}`;
  let before = first;
  for (const point of rest) {
    const half = across ? (before.x + point.x) / 2 : (before.y + point.y) / 2;
    found += across ? `C${half} ${before.y} ${half} ${point.y} ${point.x} ${point.y}` : `C${before.x} ${half} ${point.x} ${half} ${point.x} ${point.y}`;
    before = point;
  }
  return found;
}
