// A small picture of the hall, with the frame of what the map shows. A click or a drag on it moves the map. It is loaded when it is
// needed, so it imports nothing: what it shared with the rest of the map would be one more file for all pages.

const [mostWidth, mostHeight] = [160, 120]; // pixels

export class MiniMap {
  #base = document.createElement("canvas");
  #of = {}; // what the picture was made of

  /** @param painter the map's; @param move is called with a point of the plan, which the map brings into its middle */
  constructor(hall, painter, move) {
    this.hall = hall;
    this.painter = painter;
    this.node = Object.assign(document.createElement("canvas"), { className: "mini", part: "minimap" });
    this.node.setAttribute("aria-hidden", "true"); // the map has its own keys
    const follow = (event) => {
      const { left, top, width, height } = this.node.getBoundingClientRect();
      const { box } = this.#of;
      move(box.x0 + ((event.clientX - left) / width) * (box.x1 - box.x0), box.y0 + ((event.clientY - top) / height) * (box.y1 - box.y0));
    };
    this.node.addEventListener("pointerdown", (event) => {
      if (event.button > 0) return;
      event.preventDefault(); // the focus stays
      this.node.setPointerCapture(event.pointerId);
      follow(event);
    });
    this.node.addEventListener("pointermove", (event) => {
      if (this.node.hasPointerCapture(event.pointerId)) follow(event);
    });
  }

  /** show draws the frame of what a camera sees of a box of the plan. */
  show(camera, box) {
    const { ratio, fills, floor } = this.painter;
    const border = 0.03 * Math.max(box.x1 - box.x0, box.y1 - box.y0);
    const around = { x0: box.x0 - border, y0: box.y0 - border, x1: box.x1 + border, y1: box.y1 + border };
    const scale = Math.min(mostWidth / (around.x1 - around.x0), mostHeight / (around.y1 - around.y0)) * ratio;
    if (fills !== this.#of.fills || floor !== this.#of.floor || scale !== this.#of.scale) this.#draw({ fills, floor, scale, box: around });
    const { node } = this;
    node.hidden = false;
    const c = node.getContext("2d");
    c.drawImage(this.#base, 0, 0);
    const [x0, y0] = [(camera.planX(0) - around.x0) * scale, (camera.planY(0) - around.y0) * scale];
    const [x1, y1] = [(camera.planX(camera.width) - around.x0) * scale, (camera.planY(camera.height) - around.y0) * scale];
    c.strokeStyle = this.painter.colors.ink;
    c.lineWidth = 2 * ratio;
    const within = (v, most) => Math.min(Math.max(v, ratio), most - ratio);
    const [left, top] = [within(x0, node.width), within(y0, node.height)];
    c.strokeRect(left, top, within(x1, node.width) - left, within(y1, node.height) - top);
  }

  // #draw makes the picture without the frame.
  #draw(of) {
    this.#of = of;
    const { scale, box, fills } = of;
    const { colors, ratio, decorations } = this.painter;
    for (const canvas of [this.node, this.#base]) {
      canvas.width = Math.round((box.x1 - box.x0) * scale);
      canvas.height = Math.round((box.y1 - box.y0) * scale);
    }
    Object.assign(this.node.style, { width: `${this.node.width / ratio}px`, height: `${this.node.height / ratio}px` });
    const c = this.#base.getContext("2d");
    c.fillStyle = colors.background;
    c.fillRect(0, 0, this.#base.width, this.#base.height);
    const fill = (outline, color) => {
      c.beginPath();
      for (let i = 0; i < outline.length; i += 2) c.lineTo((outline[i] - box.x0) * scale, (outline[i + 1] - box.y0) * scale);
      c.fillStyle = color;
      c.globalAlpha = 0.55;
      c.fill();
      c.globalAlpha = 1;
    };
    const { stage } = this.hall;
    if (stage !== undefined) fill([stage.x0, stage.y0, stage.x1, stage.y0, stage.x1, stage.y1, stage.x0, stage.y1], colors.line);
    for (const d of decorations) if (d.kind === "stage") fill(d.outline, colors.line);
    for (const s of this.hall.sections) if (this.painter.isShown(s)) fill(s.outline, fills[s.main]);
  }
}
