/* replay.h - records a run of a world, and writes one HTML file that plays it in 3-D

   For examples and benches; no part of the library. Include it after icf_geometry.h. Uses malloc and stdio.

       replay r;
       replay_begin(&r, "a falling box", dt);
       replay_shape(&r, box_body, &box, REPLAY_COLOR);     // icf_shape on icf_body; {0, 0}: the ground
       replay_frame(&r, &world);                           // as it is before the first step
       loop:
           icf_world_step(&world, dt);
           replay_frame(&r, &world);                       // after each step
       if (!replay_write(&r, "box.html")) puts(r.error);
       replay_free(&r);

   The page needs no network and nothing beside it: any browser opens it from the disk. It shows bodies, the
   forces of contacts, and plots of iterations and energy; `h` in it lists mouse, touch and keys. With
   #t=1.5 behind its address it opens at that time, in s, and waits.

   With #define REPLAY_SCENE before it, replay_scene(&r, &scene) shows all colliders of a scene.

   Size: a body that moves takes 28 bytes a frame, a touch 14; what lies still takes nothing. With r.every = k
   only each k-th call of replay_frame becomes a frame.

   The page is examples/replay_player.html; examples/replay_embed.sh puts it at the end of this file. */

#ifndef REPLAY_H
#define REPLAY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In place of 0xrrggbb: one of ten colours, by body; for a half-space a quiet one */
#define REPLAY_COLOR 0xff000000u

typedef struct replay_bytes {
    unsigned char* data;
    size_t count, room;
} replay_bytes;

/* What follows a body */
typedef struct replay_track {
    icf_body body;
    float pose[7]; /* as last written: position, quaternion */
    float size;
    int32_t shown;
} replay_track;

typedef struct replay_item {
    int32_t track;
    uint32_t color;
    icf_shape shape;
    int32_t first, last; /* frames in which it is there: the last not included */
    uint32_t slot[2];    /* of a scene: its collider */
} replay_item;

/* From replay_begin, which sets all. These may be changed before the first frame: */
typedef struct replay {
    int32_t every;   /* only each k-th call is a frame; default 1 */
    int32_t touches; /* at most so many of a frame; default 100000 */
    double
        precision; /* a body is written again when it moved by that share of its size; default 1e-4 */
    const char* error; /* why replay_write answered 0, or NULL */
    size_t bytes;      /* of the file, after replay_write */
    /* private */
    char* title;
    double dt, start;
    int32_t calls, frames, failed;
    double iterations, factorizations;
    int32_t track_count, item_count;
    replay_bytes track, item, pose, touch, ends, stats;
} replay;

// ---- bytes

/* Room for n more, zeroed; NULL when there is none. */
static inline void* replay_room(replay* r, replay_bytes* b, size_t n)
{
    unsigned char* at;
    if (r->failed) return NULL;
    if (n > b->room - b->count) {
        size_t room = 2 * b->room + n + 256;
        unsigned char* data = (unsigned char*)realloc(b->data, room);
        if (!data) {
            r->failed = 1;
            return NULL;
        }
        b->data = data;
        b->room = room;
    }
    at = b->data + b->count;
    memset(at, 0, n);
    b->count += n;
    return at;
}

static inline void replay_put(replay* r, replay_bytes* b, uint32_t x, int bytes)
{
    unsigned char* at = (unsigned char*)replay_room(r, b, (size_t)bytes);
    int i;
    for (i = 0; at && i < bytes; i++) at[i] = (unsigned char)(x >> (8 * i) & 255u);
}

static inline void replay_put_float(replay* r, replay_bytes* b, double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    replay_put(r, b, bits, 4);
}

static inline double replay_nan(void)
{
    const uint32_t bits = 0x7fc00000u;
    float f;
    memcpy(&f, &bits, 4);
    return (double)f;
}

static inline double replay_abs(double x)
{
    return x < 0 ? -x : x;
}

/* To the nearest */
static inline int32_t replay_round(double x)
{
    return (int32_t)(x < 0 ? x - 0.5 : x + 0.5);
}

// ---- recording

static inline replay_track* replay_tracks(const replay* r)
{
    return (replay_track*)(void*)r->track.data;
}

static inline replay_item* replay_items(const replay* r)
{
    return (replay_item*)(void*)r->item.data;
}

static inline int32_t replay_track_of(replay* r, icf_body body)
{
    replay_track* t = replay_tracks(r);
    int32_t i;
    for (i = r->track_count - 1; i >= 0; i--)
        if (t[i].body.index == body.index && t[i].body.generation == body.generation) return i;
    t = (replay_track*)replay_room(r, &r->track, sizeof *t);
    if (!t) return -1;
    t->body = body;
    return r->track_count++;
}

/* Begins a recording of steps of dt, in s. */
static inline void replay_begin(replay* r, const char* title, icf_real dt)
{
    const icf_body ground = {0, 0};
    size_t n = strlen(title) + 1;
    memset(r, 0, sizeof *r);
    r->every = 1;
    r->touches = 100000;
    r->precision = 1e-4;
    r->dt = (double)dt;
    r->title = (char*)malloc(n);
    if (r->title)
        memcpy(r->title, title, n);
    else
        r->failed = 1;
    (void)replay_track_of(r, ground);
}

/* Shows a shape on a body from the next frame on; any number of shapes on each body. */
static inline void replay_shape(replay* r, icf_body body, const icf_shape* shape, uint32_t color)
{
    static const uint32_t palette[10] = {0x4e79a7u, 0xf0a03cu, 0x59a14fu, 0xe15759u, 0x9c76b8u,
                                         0x76b7b2u, 0xedc948u, 0xd98b9fu, 0x9c755fu, 0x6f8fd0u};
    int32_t track = replay_track_of(r, body);
    replay_item* item = (replay_item*)replay_room(r, &r->item, sizeof *item);
    double size = (double)shape->radius;
    if (!item || track < 0) return;
    if (shape->kind == (int32_t)ICF_SHAPE_BOX) size = (double)icf_vec3_length(shape->half);
    if (shape->kind == (int32_t)ICF_SHAPE_HALF_SPACE) size = 1;
    item->track = track;
    item->shape = *shape;
    item->color = color;
    if (color == REPLAY_COLOR && shape->kind != (int32_t)ICF_SHAPE_HALF_SPACE)
        item->color = track ? palette[(track - 1) % 10] : 0xa7adb5u;
    item->first = r->frames;
    item->last = INT32_MAX;
    r->item_count++;
    if (replay_tracks(r)[track].size < (float)size) replay_tracks(r)[track].size = (float)size;
}

/* One track: whether it is to be written, and its pose */
static inline int replay_moved(const replay* r, replay_track* t, const icf_world* world)
{
    icf_body_state s;
    float now[7];
    double most = r->precision * (double)t->size, away = 0, along = 0, against = 0;
    int i, shown = 1;
    memset(&s, 0, sizeof s);
    s.pose = icf_transform_identity();
    if (t->body.generation || t->body.index)
        shown = icf_body_get_state(world, t->body, &s) == ICF_RESULT_OK;
    if (!shown) {
        if (t->shown != 1) return 0;
        t->shown = 2; /* gone */
        return 1;
    }
    now[0] = (float)s.pose.p.x;
    now[1] = (float)s.pose.p.y;
    now[2] = (float)s.pose.p.z;
    now[3] = (float)s.pose.q.x;
    now[4] = (float)s.pose.q.y;
    now[5] = (float)s.pose.q.z;
    now[6] = (float)s.pose.q.w;
    for (i = 0; i < 3; i++) away += replay_abs((double)now[i] - (double)t->pose[i]);
    for (i = 3; i < 7; i++) {
        along += replay_abs((double)now[i] - (double)t->pose[i]);
        against += replay_abs((double)now[i] + (double)t->pose[i]);
    }
    if (against < along) along = against;
    if (t->shown == 1 && away <= most && along <= r->precision) return 0;
    memcpy(t->pose, now, sizeof now);
    t->shown = 1;
    return 1;
}

static inline void replay_poses(replay* r, const icf_world* world)
{
    replay_track* t = replay_tracks(r);
    size_t mask;
    int32_t i, k;
    replay_put(r, &r->pose, (uint32_t)r->track_count, 4);
    mask = r->pose.count;
    for (i = 0; i < r->track_count; i += 32) replay_put(r, &r->pose, 0, 4);
    for (i = 0; i < r->track_count && !r->failed; i++) {
        if (!replay_moved(r, &t[i], world)) continue;
        r->pose.data[mask + (size_t)i / 8] |= (unsigned char)(1u << (i % 8));
        for (k = 0; k < 3; k++)
            replay_put_float(r, &r->pose, t[i].shown == 1 ? (double)t[i].pose[k] : replay_nan());
        for (k = 3; k < 7; k++)
            replay_put(r, &r->pose, (uint32_t)replay_round((double)t[i].pose[k] * 32767), 2);
    }
}

/* Points in full for now, until their bounds are known: 3 floats, and what is said at replay_fold. */
static inline void replay_touches(replay* r, const icf_world* world)
{
    int32_t i, n = icf_world_touch_count(world);
    if (n > r->touches) n = r->touches;
    for (i = 0; i < n; i++) {
        icf_touch_result t;
        icf_vec3 f;
        double x, y, z, sum, u = 0, v = 0;
        float size;
        uint32_t bits = 0;
        if (icf_world_get_touch(world, i, &t) != ICF_RESULT_OK) continue;
        f = t.contact.force;
        x = (double)f.x;
        y = (double)f.y;
        z = (double)f.z;
        sum = replay_abs(x) + replay_abs(y) + replay_abs(z);
        if (sum > 0) {
            u = x / sum;
            v = y / sum;
            if (z < 0) { /* the lower half of the octahedron is folded over the upper */
                x = u;
                u = (1 - replay_abs(v)) * (x < 0 ? -1 : 1);
                v = (1 - replay_abs(x)) * (v < 0 ? -1 : 1);
            }
            /* a float without its sign and the last 17 bits, to the nearest */
            size = (float)icf_vec3_length(f);
            memcpy(&bits, &size, 4);
            bits = (bits + 0x10000u) >> 17;
            if (bits > 0x3fbfu) bits = 0x3fbfu;
        }
        replay_put_float(r, &r->touch, (double)t.point.x);
        replay_put_float(r, &r->touch, (double)t.point.y);
        replay_put_float(r, &r->touch, (double)t.point.z);
        replay_put(r, &r->touch, (uint32_t)replay_round(u * 127), 1);
        replay_put(r, &r->touch, (uint32_t)replay_round(v * 127), 1);
        replay_put(r, &r->touch, (bits & 0x3fffu) | (uint32_t)t.contact.mode << 14, 2);
    }
    replay_put(r, &r->ends, (uint32_t)(r->touch.count / 16), 4);
}

/* Call it after each step, and before the first one if that is to be seen too. */
static inline void replay_frame(replay* r, const icf_world* world)
{
    icf_stats stats;
    icf_diagnosis d;
    int known;
    if (r->failed) return;
    if (r->calls == 0) r->start = (double)icf_world_time(world);
    /* of steps between frames the most */
    if (icf_world_get_stats(world, &stats) == ICF_RESULT_OK) {
        if (r->iterations < (double)stats.iterations) r->iterations = (double)stats.iterations;
        if (r->factorizations < (double)stats.factorizations)
            r->factorizations = (double)stats.factorizations;
    } else {
        r->iterations = r->factorizations = replay_nan();
    }
    if (r->every < 1) r->every = 1;
    if (r->calls++ % r->every) return;
    replay_poses(r, world);
    replay_touches(r, world);
    known = icf_world_diagnose(world, &d) == ICF_RESULT_OK;
    replay_put_float(r, &r->stats, r->iterations);
    replay_put_float(r, &r->stats, r->factorizations);
    replay_put_float(r, &r->stats, known ? (double)d.kinetic : replay_nan());
    replay_put_float(r, &r->stats, known ? (double)d.potential : replay_nan());
    replay_put_float(r, &r->stats, known ? (double)d.penetration : replay_nan());
    r->iterations = r->factorizations = 0;
    r->frames++;
}

static inline void replay_free(replay* r)
{
    free(r->title);
    free(r->track.data);
    free(r->item.data);
    free(r->pose.data);
    free(r->touch.data);
    free(r->ends.data);
    free(r->stats.data);
    memset(r, 0, sizeof *r);
}

#ifdef REPLAY_SCENE
/* Shows all colliders of a scene, on its next frame and later ones; call it before each replay_frame if
   some come and go. Its frames are replay_frame(r, &scene->world). */
static inline void replay_scene(replay* r, const icf_scene* scene)
{
    int32_t i, k, n = icf_scene_collider_count(scene);
    for (k = 0; k < r->item_count; k++) {
        replay_item* item = &replay_items(r)[k];
        icf_collider c;
        c.index = item->slot[0];
        c.generation = item->slot[1];
        if ((c.index || c.generation) && item->last == INT32_MAX &&
            !icf_collider_is_valid(scene, c))
            item->last = r->frames;
    }
    for (i = 0, k = 0; i < n && !r->failed; i++) {
        icf_collider c = icf_scene_collider_at(scene, i);
        icf_collider_def def;
        int32_t j, items = r->item_count;
        if (!icf_collider_is_valid(scene, c)) continue;
        /* most likely behind the one that was found last */
        for (j = 0; j < items; j++, k++) {
            const replay_item* item;
            if (k >= items) k = 0;
            item = &replay_items(r)[k];
            if (item->slot[0] == c.index && item->slot[1] == c.generation) break;
        }
        if (j < items || icf_collider_get_def(scene, c, &def) != ICF_RESULT_OK) continue;
        replay_shape(r, def.body, &def.shape, REPLAY_COLOR);
        if (r->failed) return;
        replay_items(r)[items].slot[0] = c.index;
        replay_items(r)[items].slot[1] = c.generation;
    }
}
#endif

// ---- writing

static inline void replay_text(FILE* file, const char* text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else
            fputc(*text, file);
    }
}

static inline void replay_base64(FILE* file, const replay_bytes* b)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i, k, column = 0;
    for (i = 0; i < b->count; i += 3) {
        unsigned char c[3] = {0, 0, 0};
        uint32_t x;
        char out[4];
        for (k = 0; k < 3 && i + k < b->count; k++) c[k] = b->data[i + k];
        x = (uint32_t)c[0] << 16 | (uint32_t)c[1] << 8 | (uint32_t)c[2];
        out[0] = digit[x >> 18];
        out[1] = digit[x >> 12 & 63u];
        out[2] = i + 1 < b->count ? digit[x >> 6 & 63u] : '=';
        out[3] = i + 2 < b->count ? digit[x & 63u] : '=';
        fwrite(out, 1, 4, file);
        column += 4;
        if (column == 1000) {
            fputc('\n', file);
            column = 0;
        }
    }
    fputc('\n', file);
}

static inline double replay_get_float(const replay_bytes* b, size_t at)
{
    const unsigned char* p = b->data + at;
    uint32_t bits =
        (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    float f;
    memcpy(&f, &bits, 4);
    return (double)f;
}

/* Ten bytes a touch: its point, 16 bits an axis between low and high; its force as a direction on an
   octahedron, 8 bits twice, and a size of 14 bits; and two bits of icf_mode. */
static inline replay_bytes replay_fold(replay* r, double* low, double* high)
{
    replay_bytes out = {NULL, 0, 0};
    size_t i;
    int k;
    for (k = 0; k < 3; k++) {
        low[k] = high[k] = 0;
        for (i = 0; i < r->touch.count; i += 16) {
            double x = replay_get_float(&r->touch, i + 4 * (size_t)k);
            if (i == 0 || x < low[k]) low[k] = x;
            if (i == 0 || x > high[k]) high[k] = x;
        }
    }
    for (i = 0; i < r->touch.count; i += 16) {
        for (k = 0; k < 3; k++) {
            double x = replay_get_float(&r->touch, i + 4 * (size_t)k), range = high[k] - low[k];
            replay_put(r, &out, range > 0 ? (uint32_t)((x - low[k]) / range * 65535 + 0.5) : 0, 2);
        }
        for (k = 12; k < 16; k++) replay_put(r, &out, r->touch.data[i + (size_t)k], 1);
    }
    return out;
}

static inline void replay_meta(FILE* file, const replay* r, const double* low, const double* high)
{
    int32_t i;
    fprintf(file, "{\"dt\":%.9g,\"every\":%d,\"start\":%.9g,\"frames\":%d,\"real\":\"%s\"", r->dt,
            (int)r->every, r->start, (int)r->frames, sizeof(icf_real) == 4 ? "float" : "double");
    fprintf(file, ",\n\"low\":[%.9g,%.9g,%.9g],\"high\":[%.9g,%.9g,%.9g]", low[0], low[1], low[2],
            high[0], high[1], high[2]);
    fputs(",\n\"tracks\":[", file);
    for (i = 0; i < r->track_count; i++)
        fprintf(file, "%s%lu", i ? "," : "", (unsigned long)replay_tracks(r)[i].body.index);
    fputs("],\n\"touches\":[0", file);
    for (i = 0; i < r->frames; i++) {
        const unsigned char* p = r->ends.data + 4 * (size_t)i;
        fprintf(file, ",%lu",
                (unsigned long)p[0] | (unsigned long)p[1] << 8 | (unsigned long)p[2] << 16 |
                    (unsigned long)p[3] << 24);
    }
    fputs("],\n\"shapes\":[", file);
    for (i = 0; i < r->item_count; i++) {
        const replay_item* t = &replay_items(r)[i];
        const icf_shape* s = &t->shape;
        long color = t->color == REPLAY_COLOR ? -1 : (long)(t->color & 0xffffffu);
        fprintf(file, "%s\n[%d,%d,%ld,%.7g,%.7g,%.7g,%.7g", i ? "," : "", (int)t->track,
                (int)s->kind, color, (double)s->radius, (double)s->half.x, (double)s->half.y,
                (double)s->half.z);
        fprintf(file, ",%.7g,%.7g,%.7g,%.7g,%.7g,%.7g,%.7g,%d,%d]", (double)s->pose.p.x,
                (double)s->pose.p.y, (double)s->pose.p.z, (double)s->pose.q.x, (double)s->pose.q.y,
                (double)s->pose.q.z, (double)s->pose.q.w, (int)t->first, (int)t->last);
    }
    fputs("]}\n", file);
}

static inline const char* const* replay_page(void);

/* Writes the page: 1. Or 0, with r->error: there was no memory, or the file could not be written. The
   recording stays, and may go on. */
static inline int replay_write(replay* r, const char* path)
{
    const char* const* line;
    double low[3], high[3];
    replay_bytes touch = {NULL, 0, 0};
    FILE* file;
    long size;
    int ok;
    r->error = NULL;
    if (r->frames == 0) r->error = "there is no frame";
    if (!r->failed && !r->error) touch = replay_fold(r, low, high);
    if (r->failed) r->error = "there was no memory for the recording";
    if (r->error) {
        free(touch.data);
        return 0;
    }
    file = fopen(path, "wb");
    if (!file) {
        free(touch.data);
        r->error = "the file cannot be opened; is there such a folder?";
        return 0;
    }
    for (line = replay_page(); *line; line++) {
        const char* mark = strstr(*line, "@TITLE@");
        if (mark) {
            fwrite(*line, 1, (size_t)(mark - *line), file);
            replay_text(file, r->title);
            fputs(mark + 7, file);
        } else if (!strcmp(*line, "@META@\n")) {
            replay_meta(file, r, low, high);
        } else if (!strcmp(*line, "@POSES@\n")) {
            replay_base64(file, &r->pose);
        } else if (!strcmp(*line, "@TOUCHES@\n")) {
            replay_base64(file, &touch);
        } else if (!strcmp(*line, "@STATS@\n")) {
            replay_base64(file, &r->stats);
        } else {
            fputs(*line, file);
        }
    }
    free(touch.data);
    size = ftell(file);
    ok = !ferror(file);
    ok = fclose(file) == 0 && ok;
    r->bytes = size > 0 ? (size_t)size : 0;
    if (!ok) r->error = "the file could not be written to its end";
    return ok;
}

// ---- the page: written by examples/replay_embed.sh out of examples/replay_player.html

// clang-format off
static inline const char* const* replay_page(void)
{
    static const char* const page[] = {
        "<!doctype html>\n",
        "<html lang=\"en\">\n",
        "<head>\n",
        "<meta charset=\"utf-8\">\n",
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1, viewport-fit=cover\">\n",
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n",
        "<meta name=\"color-scheme\" content=\"light dark\">\n",
        "<link rel=\"icon\" href=\"data:,\">\n",
        "<title>@TITLE@</title>\n",
        "<style>\n",
        ":root {\n",
        "--bg: #f4f5f7; --panel: #ffffff; --text: #1c2430; --soft: #566274; --line: #d6dbe3; --grid: #e8ebf0;\n",
        "--accent: #1f6feb; --press: #e3edfd; --stick: #188a46; --slip: #d9660a; --glass: rgba(255, 255, 255, .78);\n",
        "--c1: #1f6feb; --c2: #c27a10; --c3: #c43d4b; --c4: #1f6feb; --c5: #1c2430;\n",
        "}\n",
        "@media (prefers-color-scheme: dark) {\n",
        ":root {\n",
        "--bg: #12161c; --panel: #1a2029; --text: #e6eaf0; --soft: #9aa7b8; --line: #323b48; --grid: #262e39;\n",
        "--accent: #6ca8ff; --press: #22364f; --stick: #3ecf7a; --slip: #ff9d42; --glass: rgba(20, 25, 32, .74);\n",
        "--c1: #6ca8ff; --c2: #f0b04a; --c3: #ff7b86; --c4: #6ca8ff; --c5: #e6eaf0;\n",
        "}\n",
        "}\n",
        "* { box-sizing: border-box; }\n",
        "html, body { height: 100%; margin: 0; }\n",
        "body {\n",
        "display: flex; flex-direction: column; height: 100vh; height: 100dvh; overflow: hidden;\n",
        "background: var(--bg); color: var(--text);\n",
        "font: 14px/1.4 system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", \"DejaVu Sans\", sans-serif;\n",
        "font-variant-numeric: tabular-nums;\n",
        "}\n",
        "header {\n",
        "display: flex; align-items: baseline; gap: 4px 16px; flex-wrap: wrap; background: var(--panel);\n",
        "border-bottom: 1px solid var(--line);\n",
        "padding: 8px max(16px, env(safe-area-inset-right)) 8px max(16px, env(safe-area-inset-left));\n",
        "}\n",
        "h1 { font-size: 16px; font-weight: 600; margin: 0; overflow-wrap: anywhere; }\n",
        "#facts { color: var(--soft); font-size: 12.5px; }\n",
        "#view { position: relative; flex: 1 1 auto; min-height: 120px; overflow: hidden; }\n",
        "#gl { position: absolute; inset: 0; width: 100%; height: 100%; display: block; touch-action: none; cursor: grab; outline-offset: -3px; }\n",
        "#gl:focus-visible { outline: none; }\n",
        "body.keys #gl:focus-visible { outline: 2px solid var(--accent); }\n",
        "#gl.drag { cursor: grabbing; }\n",
        ".glass {\n",
        "position: absolute; background: var(--glass); border: 1px solid var(--line); border-radius: 8px; padding: 6px 10px;\n",
        "font-size: 12.5px; backdrop-filter: blur(6px); -webkit-backdrop-filter: blur(6px);\n",
        "}\n",
        "#hud { left: 12px; top: 12px; pointer-events: none; }\n",
        "#hud table { border-collapse: collapse; }\n",
        "#hud th { text-align: left; font-weight: 400; color: var(--soft); padding: 0 10px 0 0; }\n",
        "#hud td { text-align: right; padding: 0; min-width: 64px; }\n",
        "#key { right: 12px; top: 12px; pointer-events: none; display: flex; gap: 12px; }\n",
        "#key i, .legend i { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 5px; vertical-align: -1px; }\n",
        "#corner { right: 12px; bottom: 12px; padding: 1px; display: flex; }\n",
        "#follow { left: 50%; top: 12px; transform: translateX(-50%); display: flex; align-items: center; gap: 8px; padding: 0 2px 0 12px; white-space: nowrap; }\n",
        "#message { inset: 0; margin: auto; width: min(420px, 90%); height: fit-content; padding: 20px; text-align: center; font-size: 14px; }\n",
        "[hidden] { display: none !important; }\n",
        "#bar {\n",
        "background: var(--panel); border-top: 1px solid var(--line); display: flex; flex-wrap: wrap; align-items: center; gap: 4px 6px;\n",
        "padding: 6px max(10px, env(safe-area-inset-right)) 6px max(10px, env(safe-area-inset-left));\n",
        "}\n",
        "button, select {\n",
        "font: inherit; color: inherit; background: transparent; border: 1px solid transparent; border-radius: 8px; height: 38px; min-width: 38px;\n",
        "padding: 0 8px; cursor: pointer; -webkit-tap-highlight-color: transparent; display: inline-flex; align-items: center; justify-content: center; gap: 6px; touch-action: manipulation;\n",
        "}\n",
        "select { border-color: var(--line); background: var(--panel); padding: 0 4px; }\n",
        "button:hover { background: var(--grid); }\n",
        "button[aria-pressed=true] { background: var(--press); color: var(--accent); }\n",
        "#play { background: var(--accent); color: var(--panel); min-width: 46px; }\n",
        "#play:hover { filter: brightness(1.08); }\n",
        ":focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }\n",
        "svg { width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }\n",
        "svg .f { fill: currentColor; stroke-width: 1.2; }\n",
        "#scrub { flex: 1 1 220px; min-width: 120px; accent-color: var(--accent); height: 38px; margin: 0 6px; }\n",
        "#clock { min-width: 116px; text-align: right; padding-right: 4px; white-space: nowrap; }\n",
        "#clock span { color: var(--soft); }\n",
        "#plots {\n",
        "background: var(--panel); border-top: 1px solid var(--line); display: grid; grid-template-columns: 1fr 1fr; gap: 0 16px;\n",
        "padding: 8px max(16px, env(safe-area-inset-right)) max(8px, env(safe-area-inset-bottom)) max(16px, env(safe-area-inset-left));\n",
        "}\n",
        "#plots figure { margin: 0; min-width: 0; }\n",
        "figcaption { display: flex; flex-wrap: wrap; gap: 0 14px; font-size: 12.5px; min-height: 18px; }\n",
        "figcaption b { font-weight: 600; }\n",
        ".legend { color: var(--soft); white-space: nowrap; }\n",
        ".legend i { border-radius: 2px; height: 3px; width: 12px; vertical-align: 3px; }\n",
        ".legend output { color: var(--text); display: inline-block; min-width: 34px; }\n",
        ".plot { display: block; width: 100%; height: 150px; cursor: crosshair; touch-action: pan-y; }\n",
        "dialog { border: 1px solid var(--line); border-radius: 12px; background: var(--panel); color: var(--text); max-width: min(520px, 92vw); padding: 18px 22px; }\n",
        "dialog::backdrop { background: rgba(0, 0, 0, .4); }\n",
        "dialog h2 { margin: 0 0 8px; font-size: 16px; }\n",
        "dialog table { border-collapse: collapse; width: 100%; }\n",
        "dialog th, dialog td { text-align: left; vertical-align: top; font-weight: 400; padding: 3px 12px 3px 0; border-bottom: 1px solid var(--grid); }\n",
        "dialog th { white-space: nowrap; }\n",
        "kbd { font: inherit; font-size: 12.5px; border: 1px solid var(--line); border-bottom-width: 2px; border-radius: 5px; padding: 0 6px; background: var(--bg); }\n",
        "dialog form { text-align: right; margin-top: 12px; }\n",
        "dialog button { border-color: var(--line); padding: 0 16px; }\n",
        ".sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }\n",
        "@media (max-width: 980px) { .word { display: none; } }\n",
        "@media (max-width: 720px) {\n",
        "header { padding-top: 6px; padding-bottom: 6px; }\n",
        "h1 { font-size: 15px; }\n",
        "#facts { font-size: 11.5px; }\n",
        "#scrub { order: -2; flex: 1 1 55%; }\n",
        "#clock { order: -1; }\n",
        "#bar { justify-content: space-between; gap: 2px; }\n",
        "button { padding: 0 6px; }\n",
        "#plots { grid-template-columns: 1fr; gap: 4px; padding-left: 10px; padding-right: 10px; }\n",
        ".plot { height: 116px; }\n",
        "figcaption b { display: none; }\n",
        ".glass { font-size: 11.5px; padding: 4px 8px; }\n",
        "#hud { left: 8px; top: 8px; }\n",
        "#key { right: 8px; top: 8px; flex-direction: column; gap: 0; }\n",
        "#corner { right: 8px; bottom: 8px; }\n",
        "#first { display: none; }\n",
        "#follow { top: auto; bottom: 8px; left: 8px; transform: none; }\n",
        "}\n",
        "@media (max-height: 520px) { #plots, #plot, .word, header { display: none; } }\n",
        "body.noplots #plots { display: none; }\n",
        "</style>\n",
        "</head>\n",
        "<body>\n",
        "<header><h1>@TITLE@</h1><div id=\"facts\"></div></header>\n",
        "<main id=\"view\">\n",
        "<canvas id=\"gl\" tabindex=\"0\" role=\"img\" aria-label=\"The recorded bodies in three dimensions. Drag to orbit, scroll or pinch to zoom, click a body to follow it.\"></canvas>\n",
        "<div id=\"hud\" class=\"glass\"><table>\n",
        "<tr><th scope=\"row\">time</th><td id=\"h-time\"></td></tr>\n",
        "<tr><th scope=\"row\">frame</th><td id=\"h-frame\"></td></tr>\n",
        "<tr><th scope=\"row\">iterations</th><td id=\"h-it\"></td></tr>\n",
        "<tr><th scope=\"row\">contacts</th><td id=\"h-con\"></td></tr>\n",
        "<tr><th scope=\"row\">slipping</th><td id=\"h-slip\"></td></tr>\n",
        "<tr><th scope=\"row\">overlap</th><td id=\"h-pen\"></td></tr>\n",
        "</table></div>\n",
        "<div id=\"key\" class=\"glass\"><span><i style=\"background:var(--stick)\"></i>sticks</span><span><i style=\"background:var(--slip)\"></i>slips</span><span id=\"k-scale\"></span></div>\n",
        "<div id=\"follow\" class=\"glass\" hidden><span id=\"f-name\"></span><button id=\"unfollow\" aria-label=\"Stop following\" title=\"Stop following (Esc)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M6 6l12 12M18 6L6 18\"/></svg></button></div>\n",
        "<div id=\"corner\" class=\"glass\">\n",
        "<button id=\"reset\" aria-label=\"Reset the view\" title=\"Reset the view (r)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5\"/></svg></button>\n",
        "<button id=\"help\" aria-label=\"Help\" title=\"Help (h)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><circle cx=\"12\" cy=\"12\" r=\"9\"/><path d=\"M9.500 9.500a2.500 2.500 0 113.500 2.300c-.7.4-1 .9-1 1.700M12 17v.01\"/></svg></button>\n",
        "</div>\n",
        "<div id=\"message\" class=\"glass\" role=\"alert\" hidden></div>\n",
        "</main>\n",
        "<div id=\"bar\" role=\"toolbar\" aria-label=\"Playback\">\n",
        "<button id=\"first\" aria-label=\"To the start\" title=\"To the start (Home)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M6 5v14\"/><path class=\"f\" d=\"M19 5L9 12l10 7z\"/></svg></button>\n",
        "<button id=\"back\" aria-label=\"One frame back\" title=\"One frame back (left arrow)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M15 6l-6 6 6 6\"/></svg></button>\n",
        "<button id=\"play\" aria-label=\"Play\" title=\"Play or pause (space)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path class=\"f\" id=\"i-play\" d=\"M8 5l11 7-11 7z\"/></svg></button>\n",
        "<button id=\"next\" aria-label=\"One frame forward\" title=\"One frame forward (right arrow)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M9 6l6 6-6 6\"/></svg></button>\n",
        "<input id=\"scrub\" type=\"range\" min=\"0\" max=\"1\" step=\"any\" value=\"0\" aria-label=\"Time\">\n",
        "<div id=\"clock\"></div>\n",
        "<select id=\"speed\" aria-label=\"Speed\" title=\"Speed (+ and -)\"></select>\n",
        "<button id=\"loop\" aria-pressed=\"true\" aria-label=\"Loop\" title=\"Loop (l)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M17 3l3 3-3 3M20 6H8a4 4 0 00-4 4v1M7 21l-3-3 3-3M4 18h12a4 4 0 004-4v-1\"/></svg></button>\n",
        "<button id=\"forces\" aria-pressed=\"true\" aria-label=\"Contact forces\" title=\"Contact forces (f)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M12 16V4M7.500 8.500L12 4l4.500 4.500M5 20h14\"/></svg><span class=\"word\">Forces</span></button>\n",
        "<button id=\"shadows\" aria-pressed=\"true\" aria-label=\"Shadows\" title=\"Shadows (s)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><circle cx=\"10\" cy=\"9\" r=\"5\"/><path d=\"M7 19h12\"/></svg><span class=\"word\">Shadows</span></button>\n",
        "<button id=\"plot\" aria-pressed=\"true\" aria-label=\"Plots\" title=\"Plots (p)\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M4 4v16h16M7 15l4-5 3 3 5-7\"/></svg><span class=\"word\">Plots</span></button>\n",
        "</div>\n",
        "<section id=\"plots\" aria-label=\"Plots over time\">\n",
        "<figure><figcaption id=\"l1\"></figcaption><canvas class=\"plot\" id=\"p1\" role=\"img\"></canvas></figure>\n",
        "<figure><figcaption id=\"l2\"></figcaption><canvas class=\"plot\" id=\"p2\" role=\"img\"></canvas></figure>\n",
        "</section>\n",
        "<div id=\"live\" class=\"sr\" aria-live=\"polite\"></div>\n",
        "<dialog id=\"about\" aria-labelledby=\"about-t\">\n",
        "<h2 id=\"about-t\">How to look around</h2>\n",
        "<table>\n",
        "<tr><th scope=\"row\">drag, one finger</th><td>orbit</td></tr>\n",
        "<tr><th scope=\"row\">right or Shift drag, two fingers</th><td>pan</td></tr>\n",
        "<tr><th scope=\"row\">wheel, pinch</th><td>zoom</td></tr>\n",
        "<tr><th scope=\"row\">click a body</th><td>follow it</td></tr>\n",
        "<tr><th scope=\"row\">drag on a plot</th><td>go to that time</td></tr>\n",
        "<tr><th scope=\"row\"><kbd>space</kbd></th><td>play, pause</td></tr>\n",
        "<tr><th scope=\"row\"><kbd>&larr;</kbd> <kbd>&rarr;</kbd></th><td>a frame back, forward; with Shift ten</td></tr>\n",
        "<tr><th scope=\"row\"><kbd>Home</kbd> <kbd>End</kbd></th><td>start, end</td></tr>\n",
        "<tr><th scope=\"row\"><kbd>+</kbd> <kbd>-</kbd></th><td>faster, slower</td></tr>\n",
        "<tr><th scope=\"row\"><kbd>f</kbd></th><td>contact forces; <kbd>[</kbd> <kbd>]</kbd> shorter, longer arrows</td></tr>\n",
        "<tr><th scope=\"row\"><kbd>l</kbd> <kbd>s</kbd> <kbd>p</kbd></th><td>loop, shadows, plots</td></tr>\n",
        "<tr><th scope=\"row\"><kbd>r</kbd></th><td>reset the view</td></tr>\n",
        "<tr><th scope=\"row\"><kbd>Esc</kbd></th><td>stop following</td></tr>\n",
        "</table>\n",
        "<form method=\"dialog\"><button>Close</button></form>\n",
        "</dialog>\n",
        "<script type=\"application/json\" id=\"meta\">\n",
        "@META@\n",
        "</script>\n",
        "<script type=\"text/plain\" id=\"poses\">\n",
        "@POSES@\n",
        "</script>\n",
        "<script type=\"text/plain\" id=\"touches\">\n",
        "@TOUCHES@\n",
        "</script>\n",
        "<script type=\"text/plain\" id=\"stats\">\n",
        "@STATS@\n",
        "</script>\n",
        "<script>\n",
        "\"use strict\";\n",
        "(function () {\n",
        "var $ = function (id) { return document.getElementById(id); };\n",
        "function bytes(id) {\n",
        "var s = atob($(id).textContent), a = new Uint8Array(s.length), i;\n",
        "for (i = 0; i < a.length; i++) a[i] = s.charCodeAt(i);\n",
        "$(id).textContent = \"\";\n",
        "return a.buffer;\n",
        "}\n",
        "var M = JSON.parse($(\"meta\").textContent);\n",
        "var N = M.frames, T = M.tracks.length, H = M.dt * M.every;\n",
        "var P = new Float32Array(N * T * 3), Q = new Int16Array(N * T * 4);\n",
        "(function () {\n",
        "var d = new DataView(bytes(\"poses\")), at = 0, words, f, w, b, t, k, mask;\n",
        "P.fill(NaN, 0, T * 3);\n",
        "for (f = 0; f < N; f++) {\n",
        "if (f) {\n",
        "P.copyWithin(f * T * 3, (f - 1) * T * 3, f * T * 3);\n",
        "Q.copyWithin(f * T * 4, (f - 1) * T * 4, f * T * 4);\n",
        "}\n",
        "words = Math.ceil(d.getUint32(at, true) / 32);\n",
        "var from = at + 4;\n",
        "at = from + 4 * words;\n",
        "for (w = 0; w < words; w++) {\n",
        "mask = d.getUint32(from + 4 * w, true);\n",
        "for (b = 0; mask; b++, mask >>>= 1) {\n",
        "if (!(mask & 1)) continue;\n",
        "t = f * T + 32 * w + b;\n",
        "for (k = 0; k < 3; k++, at += 4) P[3 * t + k] = d.getFloat32(at, true);\n",
        "for (k = 0; k < 4; k++, at += 2) Q[4 * t + k] = d.getInt16(at, true);\n",
        "}\n",
        "}\n",
        "}\n",
        "})();\n",
        "var C = new DataView(bytes(\"touches\")), Cstart = M.touches;\n",
        "function unfold(u, v) {\n",
        "var z = 1 - Math.abs(u) - Math.abs(v), x = u, y = v, l;\n",
        "if (z < 0) {\n",
        "x = (1 - Math.abs(v)) * (u < 0 ? -1 : 1);\n",
        "y = (1 - Math.abs(u)) * (v < 0 ? -1 : 1);\n",
        "}\n",
        "l = Math.hypot(x, y, z) || 1;\n",
        "return [x / l, y / l, z / l];\n",
        "}\n",
        "var short = new DataView(new ArrayBuffer(4));\n",
        "function touchForce(i) {\n",
        "var m = C.getUint16(10 * i + 8, true) & 0x3fff;\n",
        "short.setUint32(0, m << 17);\n",
        "return m ? short.getFloat32(0) : 0;\n",
        "}\n",
        "function touchMode(i) { return C.getUint16(10 * i + 8, true) >> 14; }\n",
        "function touchPoint(i, k) {\n",
        "return M.low[k] + C.getUint16(10 * i + 2 * k, true) / 65535 * (M.high[k] - M.low[k]);\n",
        "}\n",
        "function touchWay(i) { return unfold(C.getInt8(10 * i + 6) / 127, C.getInt8(10 * i + 7) / 127); }\n",
        "var columns = [\"iterations\", \"factorizations\", \"kinetic\", \"potential\", \"penetration\"];\n",
        "var stats = {};\n",
        "(function () {\n",
        "var a = new Float32Array(bytes(\"stats\"));\n",
        "columns.forEach(function (name, k) {\n",
        "stats[name] = new Float32Array(N);\n",
        "for (var i = 0; i < N; i++) stats[name][i] = a[i * columns.length + k];\n",
        "});\n",
        "stats.total = stats.kinetic.map(function (x, i) { return x + stats.potential[i]; });\n",
        "})();\n",
        "var SPHERE = 0, CAPSULE = 1, BOX = 2, PLANE = 3;\n",
        "var shapes = M.shapes.map(function (s) {\n",
        "return { track: s[0], kind: s[1], color: s[2], radius: s[3], half: s.slice(4, 7), p: s.slice(7, 10), q: s.slice(10, 14),\n",
        "first: s[14], last: s[15] };\n",
        "});\n",
        "var solids = shapes.filter(function (s) { return s.kind !== PLANE; });\n",
        "var planes = shapes.filter(function (s) { return s.kind === PLANE; });\n",
        "function sizeOf(s) { return s.kind === BOX ? Math.hypot(s.half[0], s.half[1], s.half[2]) : s.radius + (s.kind === CAPSULE ? s.half[2] : 0); }\n",
        "function rotate(q, v) {\n",
        "var tx = 2 * (q[1] * v[2] - q[2] * v[1]), ty = 2 * (q[2] * v[0] - q[0] * v[2]), tz = 2 * (q[0] * v[1] - q[1] * v[0]);\n",
        "return [v[0] + q[3] * tx + q[1] * tz - q[2] * ty, v[1] + q[3] * ty + q[2] * tx - q[0] * tz, v[2] + q[3] * tz + q[0] * ty - q[1] * tx];\n",
        "}\n",
        "function times(a, b) {\n",
        "return [a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],\n",
        "a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]];\n",
        "}\n",
        "function back(q) { return [-q[0], -q[1], -q[2], q[3]]; }\n",
        "function add(a, b) { return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]; }\n",
        "function sub(a, b) { return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]; }\n",
        "function mul(s, a) { return [s * a[0], s * a[1], s * a[2]]; }\n",
        "function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }\n",
        "function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }\n",
        "function unit(a) { return mul(1 / (Math.hypot(a[0], a[1], a[2]) || 1), a); }\n",
        "function poseOf(track, at) {\n",
        "var f = Math.min(Math.floor(at), N - 1), s = at - f, g = Math.min(f + 1, N - 1), i = f * T + track, j = g * T + track, p, q, k, d = 0, l;\n",
        "if (!(P[3 * i] === P[3 * i])) return null;\n",
        "if (!(P[3 * j] === P[3 * j])) j = i;\n",
        "p = [0, 0, 0]; q = [0, 0, 0, 0];\n",
        "for (k = 0; k < 4; k++) d += Q[4 * i + k] * Q[4 * j + k];\n",
        "d = d < 0 ? -1 : 1;\n",
        "for (k = 0; k < 3; k++) p[k] = P[3 * i + k] + s * (P[3 * j + k] - P[3 * i + k]);\n",
        "for (k = 0; k < 4; k++) q[k] = (1 - s) * Q[4 * i + k] + s * d * Q[4 * j + k];\n",
        "l = 1 / (Math.hypot(q[0], q[1], q[2], q[3]) || 1);\n",
        "for (k = 0; k < 4; k++) q[k] *= l;\n",
        "return { p: p, q: q };\n",
        "}\n",
        "function shapePose(s, at) {\n",
        "var f = Math.floor(at), b;\n",
        "if (f < s.first || f >= s.last) return null;\n",
        "b = poseOf(s.track, at);\n",
        "return b && { p: add(b.p, rotate(b.q, s.p)), q: times(b.q, s.q) };\n",
        "}\n",
        "var typical = 1, middle = [0, 0, 0], radius = 1, arrow = 1, scaleN = 1;\n",
        "(function () {\n",
        "var sizes = solids.map(sizeOf).sort(function (a, b) { return a - b; }), all = [[], [], []], k, f, step = Math.max(1, Math.floor(N / 40)), lo = [], hi = [];\n",
        "if (sizes.length) typical = sizes[sizes.length >> 1];\n",
        "for (f = 0; f < N; f += step) solids.forEach(function (s) {\n",
        "var o = shapePose(s, f), r = sizeOf(s);\n",
        "if (o && (r < 12 * typical || solids.length < 3)) for (k = 0; k < 3; k++) all[k].push(o.p[k] - r, o.p[k] + r);\n",
        "});\n",
        "if (all[0].length) {\n",
        "for (k = 0; k < 3; k++) {\n",
        "all[k].sort(function (a, b) { return a - b; });\n",
        "lo[k] = all[k][Math.floor(0.07 * all[k].length)];\n",
        "hi[k] = all[k][Math.floor(0.93 * (all[k].length - 1))];\n",
        "middle[k] = 0.4 * (lo[k] + hi[k]) / 2 + 0.6 * all[k][all[k].length >> 1];\n",
        "}\n",
        "radius = Math.max(Math.hypot(hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]) / 2, 1.5 * typical);\n",
        "}\n",
        "var forces = [], count = C.byteLength / 10, each = Math.max(1, Math.floor(count / 20000));\n",
        "for (k = 0; k < count; k += each) { f = touchForce(k); if (f > 0) forces.push(f); }\n",
        "forces.sort(function (a, b) { return a - b; });\n",
        "if (forces.length) scaleN = 1.1 * typical / (forces[Math.floor(0.7 * forces.length)]);\n",
        "})();\n",
        "var dark = matchMedia(\"(prefers-color-scheme: dark)\");\n",
        "var speeds = [0.1, 0.25, 0.5, 1, 2, 4];\n",
        "var S = { at: 0, playing: false, speed: 1, loop: true, forces: true, shadows: true, plots: true, track: -1 };\n",
        "var home = { yaw: -0.95, pitch: 0.42 };\n",
        "var cam = { yaw: 0, pitch: 0, dist: 1, target: [0, 0, 0] };\n",
        "var dirty = true;\n",
        "function resetView() {\n",
        "var w = $(\"view\").clientWidth || 1, h = $(\"view\").clientHeight || 1, narrow = Math.min(1, w / h);\n",
        "cam.yaw = home.yaw; cam.pitch = home.pitch; cam.target = middle.slice();\n",
        "cam.dist = radius / Math.sin(Math.atan(Math.tan(0.35) * narrow)) * (narrow < 1 ? 0.98 : 0.82);\n",
        "follow(-1);\n",
        "dirty = true;\n",
        "}\n",
        "var canvas = $(\"gl\"), gl = null, G = null;\n",
        "var VIEW = \"uniform mat4 uVP; uniform vec3 uEye; uniform float uPix;\";\n",
        "var HEAD = \"precision highp float;\";\n",
        "var LIGHT = HEAD + \"uniform vec3 uSun, uSunC, uUp, uDown; uniform vec3 uLx, uLy, uLz; uniform vec2 uLo; uniform float uShadow, uTexel; uniform sampler2D uMap;\" +\n",
        "\"float far(vec2 t) { return dot(texture2D(uMap, t), vec4(1., 1./255., 1./65025., 1./16581375.)); }\" +\n",
        "\"float lit(vec3 p, float bias) {\" +\n",
        "\"  if (uShadow < .5) return 1.;\" +\n",
        "\"  vec2 c = vec2(dot(p, uLx), dot(p, uLy)) + uLo; float z = clamp(.5 - .5 * dot(p, uLz), 0., 1.) - bias;\" +\n",
        "\"  float edge = max(abs(c.x), abs(c.y)); if (edge > 1.) return 1.;\" +\n",
        "\"  vec2 t = (c * .5 + .5) / uTexel - .5, b = floor(t), w = t - b; float s = 0., n = 0.;\" +\n",
        "\"  for (int j = -1; j <= 2; j++) for (int i = -1; i <= 2; i++) {\" +\n",
        "\"    float k = (i == -1 ? 1. - w.x : i == 2 ? w.x : 1.) * (j == -1 ? 1. - w.y : j == 2 ? w.y : 1.);\" +\n",
        "\"    s += k * step(z, far((b + vec2(float(i), float(j)) + .5) * uTexel)); n += k; }\" +\n",
        "\"  return mix(s / n, 1., smoothstep(.85, 1., edge)); }\" +\n",
        "\"vec3 toScreen(vec3 c) { c = c / (1. + .18 * max(max(c.r, c.g), c.b)) * 1.12; return pow(clamp(c, 0., 1.), vec3(1. / 2.2)); }\";\n",
        "var ROT = \"vec3 rot(vec4 q, vec3 v) { vec3 t = 2. * cross(q.xyz, v); return v + q.w * t + cross(q.xyz, t); }\";\n",
        "var BODY = \"attribute vec3 aN, aK, iP; attribute vec4 iQ, iS, iC;\" + ROT;\n",
        "var sources = {\n",
        "body: [BODY + VIEW + \"varying vec3 vP, vN, vL, vK; varying vec4 vC, vS;\" +\n",
        "\"void main() { vec3 l = aN * iS.w + aK * iS.xyz; vP = rot(iQ, l) + iP; vN = rot(iQ, aN); vL = aN; vK = aK; vC = iC; vS = iS;\" +\n",
        "\" gl_Position = uVP * vec4(vP, 1.); }\",\n",
        "LIGHT + \"uniform vec3 uEye; uniform float uPix, uBias; varying vec3 vP, vN, vL, vK; varying vec4 vC, vS;\" +\n",
        "\"void main() { vec3 n = normalize(vN), e = uEye - vP; float d = length(e); e /= d; vec3 c = pow(vC.rgb, vec3(2.2));\" +\n",
        "\" if (vS.w > 0.) { vec3 l = normalize(vL); float b = uPix * d / vS.w * 1.5, k = l.x * l.y; \" +\n",
        "\"   k = clamp(k / max(b, .004), -1., 1.) * (vS.z > 0. ? 1. : clamp(l.z / max(b, .004), -1., 1.)); c *= .86 + .18 * k; }\" +\n",
        "\" else { vec3 r = (1. - abs(vK)) * vS.xyz + abs(vL) * 1e9; float m = min(r.x, min(r.y, r.z)), w = uPix * d;\" +\n",
        "\"   c *= mix(.55, 1., smoothstep(w * .5, w * 1.8, m + 0.)); }\" +\n",
        "\" float s = max(dot(n, uSun), 0.); if (s > 0.) s *= lit(vP + n * uBias, .0004);\" +\n",
        "\" vec3 h = normalize(uSun + e); float spec = pow(max(dot(n, h), 0.), 40.) * .22 * step(.001, s) * s;\" +\n",
        "\" float up = n.z * .5 + .5, rim = pow(1. - max(dot(n, e), 0.), 3.);\" +\n",
        "\" vec3 o = c * (mix(uDown, uUp, up) + uSunC * s) + spec * uSunC + rim * uUp * .06;\" +\n",
        "\" o = mix(o, o * 1.15 + vec3(.10, .16, .30) * (.35 + 1.6 * rim), vC.a);\" +\n",
        "\" gl_FragColor = vec4(toScreen(o), 1.); }\"],\n",
        "depth: [BODY + \"uniform vec3 uLx, uLy, uLz; uniform vec2 uLo; varying float vZ;\" +\n",
        "\"void main() { vec3 p = rot(iQ, aN * iS.w + aK * iS.xyz) + iP; float z = clamp(-dot(p, uLz), -.999, .999); vZ = z * .5 + .5;\" +\n",
        "\" gl_Position = vec4(vec2(dot(p, uLx), dot(p, uLy)) + uLo, z, 1.); }\",\n",
        "HEAD + \"varying float vZ; void main() { vec4 v = fract(vZ * vec4(1., 255., 65025., 16581375.)); gl_FragColor = v - v.yzww * vec4(1./255., 1./255., 1./255., 0.); }\"],\n",
        "sky: [\"attribute vec2 aP; uniform vec3 uX, uY, uZ; varying vec3 vD; void main() { vD = uZ + aP.x * uX + aP.y * uY; gl_Position = vec4(aP, 1., 1.); }\",\n",
        "HEAD + \"uniform vec3 uTop, uHor; varying vec3 vD; float dither(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453) / 255.; }\" +\n",
        "\"void main() { float z = normalize(vD).z; gl_FragColor = vec4(mix(uHor, uTop, smoothstep(0., .7, z)) + dither(gl_FragCoord.xy) - .002, 1.); }\"],\n",
        "plane: [\"attribute vec2 aP; uniform vec3 uC, uU, uV; uniform mat4 uVP; varying vec3 vP; varying vec2 vT; uniform float uR; \" +\n",
        "\"void main() { vT = aP * uR; vP = uC + vT.x * uU + vT.y * uV; gl_Position = uVP * vec4(vP, 1.); }\",\n",
        "LIGHT + \"uniform vec3 uEye, uU, uV, uX, uY, uGround, uLine, uC; uniform vec2 uOff; uniform float uPix, uCell, uR, uBias, uAlpha; varying vec3 vP; varying vec2 vT;\" +\n",
        "\"float line(vec2 t, vec2 f, float cell, float w) { vec2 a = abs(fract(t / cell - .5) - .5) * cell, h = f * w;\" +\n",
        "\" vec2 k = (1. - smoothstep(max(h * .5 - f * .5, 0.), h * .5 + f * .5, a)) * (1. - smoothstep(.1, .5, f / cell)); return max(k.x, k.y); }\" +\n",
        "\"void main() { vec3 n = cross(uU, uV), e = vP - uEye; float d = length(e); e /= d; float g = dot(e, n); if (g > 0.) discard; g = min(g, -.004);\" +\n",
        "\" vec3 r = (uX - e * dot(uX, n) / g) * d * uPix, u = (uY - e * dot(uY, n) / g) * d * uPix;\" +\n",
        "\" vec2 f = abs(vec2(dot(r, uU), dot(r, uV))) + abs(vec2(dot(u, uU), dot(u, uV))); vec2 t = vT + uOff;\" +\n",
        "\" float k = max(.42 * line(t, f, uCell, 1.2), .85 * line(t, f, uCell * 10., 1.8));\" +\n",
        "\" vec3 c = mix(pow(uGround, vec3(2.2)), pow(uLine, vec3(2.2)), k);\" +\n",
        "\" float s = max(dot(n, uSun), 0.); s *= lit(vP + n * uBias, .0004);\" +\n",
        "\" float fade = 1. - smoothstep(.16, .98, length(vT) / uR);\" +\n",
        "\" gl_FragColor = vec4(toScreen(c * (uUp + uSunC * s)), fade * uAlpha); }\"],\n",
        "arrow: [\"attribute vec4 aA; attribute vec3 iP, iF, iC; uniform float uW, uPix;\" + VIEW.replace(\"uniform float uPix;\", \"\") + \"varying vec3 vN, vC, vP;\" +\n",
        "\"void main() { float l = length(iF); vec3 z = l > 0. ? iF / l : vec3(0., 0., 1.), x = normalize(abs(z.z) < .9 ? cross(z, vec3(0., 0., 1.)) : cross(z, vec3(1., 0., 0.))), y = cross(z, x);\" +\n",
        "\" float w = min(uW, l * .12), h = min(w * 5.5, l * .6); vec3 s = x * aA.x + y * aA.y; vP = iP + z * (aA.z * l - aA.w * h) + s * w; vN = s; vC = iC; gl_Position = uVP * vec4(vP, 1.); }\",\n",
        "HEAD + \"uniform vec3 uEye, uSun; uniform float uAlpha; varying vec3 vN, vC, vP; void main() { float s = dot(normalize(vN + vec3(0., 0., 1e-3)), normalize(uSun + normalize(uEye - vP)));\" +\n",
        "\" gl_FragColor = vec4(vC * (.82 + .22 * s), uAlpha); }\"],\n",
        "point: [\"attribute vec3 iP, iC; uniform mat4 uVP; uniform float uSize; varying vec3 vC; void main() { vC = iC; gl_Position = uVP * vec4(iP, 1.); gl_PointSize = uSize; }\",\n",
        "HEAD + \"uniform float uAlpha; varying vec3 vC; void main() { float r = length(gl_PointCoord - .5); if (r > .5) discard; gl_FragColor = vec4(mix(vC, vec3(1.), .35 * (1. - smoothstep(.12, .3, r))), uAlpha); }\"]\n",
        "};\n",
        "function program(name) {\n",
        "var p = gl.createProgram(), o = { p: p, u: {}, a: {} }, i, n, x;\n",
        "[gl.VERTEX_SHADER, gl.FRAGMENT_SHADER].forEach(function (kind, k) {\n",
        "var s = gl.createShader(kind);\n",
        "gl.shaderSource(s, sources[name][k]);\n",
        "gl.compileShader(s);\n",
        "if (!gl.getShaderParameter(s, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(name + \": \" + gl.getShaderInfoLog(s));\n",
        "gl.attachShader(p, s);\n",
        "});\n",
        "gl.linkProgram(p);\n",
        "if (!gl.getProgramParameter(p, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(name + \": \" + gl.getProgramInfoLog(p));\n",
        "n = gl.getProgramParameter(p, gl.ACTIVE_UNIFORMS);\n",
        "for (i = 0; i < n; i++) { x = gl.getActiveUniform(p, i); o.u[x.name] = { at: gl.getUniformLocation(p, x.name), type: x.type }; }\n",
        "n = gl.getProgramParameter(p, gl.ACTIVE_ATTRIBUTES);\n",
        "for (i = 0; i < n; i++) { x = gl.getActiveAttrib(p, i); o.a[x.name] = gl.getAttribLocation(p, x.name); }\n",
        "return o;\n",
        "}\n",
        "function set(o, values) {\n",
        "gl.useProgram(o.p);\n",
        "for (var k in values) {\n",
        "var u = o.u[k], v = values[k];\n",
        "if (!u) continue;\n",
        "if (u.type === gl.FLOAT) gl.uniform1f(u.at, v);\n",
        "else if (u.type === gl.FLOAT_VEC2) gl.uniform2fv(u.at, v);\n",
        "else if (u.type === gl.FLOAT_VEC3) gl.uniform3fv(u.at, v);\n",
        "else if (u.type === gl.FLOAT_MAT4) gl.uniformMatrix4fv(u.at, false, v);\n",
        "else gl.uniform1i(u.at, v);\n",
        "}\n",
        "}\n",
        "function buffer(data) {\n",
        "var b = gl.createBuffer();\n",
        "gl.bindBuffer(gl.ARRAY_BUFFER, b);\n",
        "if (data) gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(data), gl.STATIC_DRAW);\n",
        "return b;\n",
        "}\n",
        "function bind(o, b, layout, each) {\n",
        "var stride = layout.reduce(function (s, x) { return s + x[1]; }, 0) * 4, at = 0;\n",
        "gl.bindBuffer(gl.ARRAY_BUFFER, b);\n",
        "layout.forEach(function (x) {\n",
        "var l = o.a[x[0]];\n",
        "if (l !== undefined && l >= 0) {\n",
        "gl.enableVertexAttribArray(l);\n",
        "gl.vertexAttribPointer(l, x[1], gl.FLOAT, false, stride, at);\n",
        "G.divisor(l, each);\n",
        "}\n",
        "at += 4 * x[1];\n",
        "});\n",
        "}\n",
        "function unbind(o) { for (var k in o.a) { gl.disableVertexAttribArray(o.a[k]); G.divisor(o.a[k], 0); } }\n",
        "function roundMesh(parts, rings, core) {\n",
        "var v = [], i, j;\n",
        "function put(i, j, side) {\n",
        "var t = Math.PI * i / rings, f = 2 * Math.PI * j / parts;\n",
        "v.push(Math.sin(t) * Math.cos(f), Math.sin(t) * Math.sin(f), Math.cos(t), 0, 0, core * side);\n",
        "}\n",
        "for (i = 0; i < rings; i++) for (j = 0; j < parts; j++) {\n",
        "var s = i < rings / 2 ? 1 : -1;\n",
        "put(i, j, s); put(i + 1, j, s); put(i + 1, j + 1, s); put(i, j, s); put(i + 1, j + 1, s); put(i, j + 1, s);\n",
        "if (core && i === rings / 2) { put(i, j, 1); put(i, j, -1); put(i, j + 1, -1); put(i, j, 1); put(i, j + 1, -1); put(i, j + 1, 1); }\n",
        "}\n",
        "return v;\n",
        "}\n",
        "function boxMesh() {\n",
        "var v = [], a, s;\n",
        "for (a = 0; a < 3; a++) for (s = -1; s <= 1; s += 2) [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]].forEach(function (c) {\n",
        "var n = [0, 0, 0], k = [0, 0, 0];\n",
        "n[a] = s; k[a] = s; k[(a + 1) % 3] = c[0] * s; k[(a + 2) % 3] = c[1];\n",
        "v.push(n[0], n[1], n[2], k[0], k[1], k[2]);\n",
        "});\n",
        "return v;\n",
        "}\n",
        "function arrowMesh() {\n",
        "var v = [], n = 10, j, a, b;\n",
        "for (j = 0; j < n; j++) {\n",
        "a = 2 * Math.PI * j / n; b = 2 * Math.PI * (j + 1) / n;\n",
        "var p = function (x, r, z, h) { v.push(r * Math.cos(x), r * Math.sin(x), z, h); };\n",
        "p(a, 1, 0, 0); p(b, 1, 0, 0); p(b, 1, 1, 1); p(a, 1, 0, 0); p(b, 1, 1, 1); p(a, 1, 1, 1);\n",
        "p(a, 2.4, 1, 1); p(b, 2.4, 1, 1); p(a, .01, 1, 0);\n",
        "p(a, 2.4, 1, 1); p(a, .01, 1, 1); p(b, 2.4, 1, 1);\n",
        "}\n",
        "return v;\n",
        "}\n",
        "function start() {\n",
        "var e, options = { antialias: true, alpha: false, powerPreference: \"high-performance\" };\n",
        "gl = gl || canvas.getContext(\"webgl2\", options) || canvas.getContext(\"webgl\", options);\n",
        "if (!gl) return fail(\"This browser does not offer WebGL, which the 3-D view needs. The plots below work without it.\");\n",
        "G = { map: null };\n",
        "if (gl.drawArraysInstanced) {\n",
        "G.draw = function (kind, n, count) { gl.drawArraysInstanced(kind, 0, n, count); };\n",
        "G.divisor = function (l, n) { gl.vertexAttribDivisor(l, n); };\n",
        "} else {\n",
        "var more = gl.getExtension(\"ANGLE_instanced_arrays\");\n",
        "if (!more) { G = null; return fail(\"This browser's WebGL lacks instanced drawing, which the 3-D view needs.\"); }\n",
        "G.draw = function (kind, n, count) { more.drawArraysInstancedANGLE(kind, 0, n, count); };\n",
        "G.divisor = function (l, n) { more.vertexAttribDivisorANGLE(l, n); };\n",
        "}\n",
        "for (var k in sources) G[k] = program(k);\n",
        "var fine = solids.length > 2000 ? 12 : solids.length > 300 ? 18 : 30;\n",
        "G.mesh = [roundMesh(fine, fine * 2 / 3, 0), roundMesh(fine, fine * 2 / 3, 1), boxMesh()].map(function (v) { return { b: buffer(v), n: v.length / 6 }; });\n",
        "G.instances = G.mesh.map(function () { return buffer(null); });\n",
        "G.quad = buffer([-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1]);\n",
        "e = arrowMesh();\n",
        "G.arrowMesh = { b: buffer(e), n: e.length / 4 };\n",
        "G.arrows = buffer(null);\n",
        "G.points = buffer(null);\n",
        "G.size = Math.min(2048, gl.getParameter(gl.MAX_TEXTURE_SIZE));\n",
        "G.map = gl.createTexture();\n",
        "gl.bindTexture(gl.TEXTURE_2D, G.map);\n",
        "gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, G.size, G.size, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);\n",
        "[[gl.TEXTURE_MIN_FILTER, gl.NEAREST], [gl.TEXTURE_MAG_FILTER, gl.NEAREST], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]\n",
        ".forEach(function (x) { gl.texParameteri(gl.TEXTURE_2D, x[0], x[1]); });\n",
        "G.frame = gl.createFramebuffer();\n",
        "gl.bindFramebuffer(gl.FRAMEBUFFER, G.frame);\n",
        "gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, G.map, 0);\n",
        "e = gl.createRenderbuffer();\n",
        "gl.bindRenderbuffer(gl.RENDERBUFFER, e);\n",
        "gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT16, G.size, G.size);\n",
        "gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, e);\n",
        "gl.bindFramebuffer(gl.FRAMEBUFFER, null);\n",
        "dirty = true;\n",
        "}\n",
        "function fail(text) {\n",
        "$(\"message\").textContent = text;\n",
        "$(\"message\").hidden = false;\n",
        "}\n",
        "canvas.addEventListener(\"webglcontextlost\", function (e) { e.preventDefault(); G = null; });\n",
        "canvas.addEventListener(\"webglcontextrestored\", function () { start(); });\n",
        "function viewOf() {\n",
        "var w = canvas.width, h = canvas.height, cp = Math.cos(cam.pitch), z = [cp * Math.cos(cam.yaw), cp * Math.sin(cam.yaw), Math.sin(cam.pitch)];\n",
        "var x = [-Math.sin(cam.yaw), Math.cos(cam.yaw), 0], y = cross(z, x), f = 1 / Math.tan(0.35), a = w / h;\n",
        "var n = cam.dist * 0.02, r = Math.max(cam.dist * 40, radius * 40), A = (r + n) / (n - r), B = 2 * r * n / (n - r), d = cam.dist;\n",
        "return { x: x, y: y, z: z, eye: mul(d, z), pix: 2 / (f * h), tan: 1 / f, aspect: a,\n",
        "m: [f / a * x[0], f * y[0], A * z[0], -z[0], f / a * x[1], f * y[1], A * z[1], -z[1], f / a * x[2], f * y[2], A * z[2], -z[2], 0, 0, B - A * d, d] };\n",
        "}\n",
        "function hex(c) { return [(c >> 16 & 255) / 255, (c >> 8 & 255) / 255, (c & 255) / 255]; }\n",
        "var scratch = [[], [], []];\n",
        "function draw() {\n",
        "if (!G || gl.isContextLost()) return;\n",
        "var v = viewOf(), night = dark.matches, sun = unit([0.42, -0.30, 0.86]), w = canvas.width, h = canvas.height, k, f = Math.floor(S.at);\n",
        "var theme = night ? { top: hex(0x0e1218), hor: hex(0x2a3340), ground: hex(0x39424e), line: hex(0x8a97a8), up: [.30, .34, .42], down: [.12, .12, .14], sun: [.95, .92, .86] }\n",
        ": { top: hex(0xa9c4e2), hor: hex(0xeaf0f6), ground: hex(0xdadfe5), line: hex(0x76828f), up: [.42, .46, .52], down: [.22, .21, .20], sun: [.92, .88, .80] };\n",
        "var list = scratch;\n",
        "list.forEach(function (a) { a.length = 0; });\n",
        "solids.forEach(function (s) {\n",
        "var o = shapePose(s, S.at), c;\n",
        "if (!o) return;\n",
        "c = hex(s.color);\n",
        "list[s.kind].push(o.q[0], o.q[1], o.q[2], o.q[3], o.p[0] - cam.target[0], o.p[1] - cam.target[1], o.p[2] - cam.target[2],\n",
        "s.kind === BOX ? s.half[0] : 0, s.kind === BOX ? s.half[1] : 0, s.kind === SPHERE ? 0 : s.half[2], s.kind === BOX ? 0 : s.radius,\n",
        "c[0], c[1], c[2], s.track === S.track && s.track > 0 ? 1 : 0);\n",
        "});\n",
        "list.forEach(function (a, k) {\n",
        "gl.bindBuffer(gl.ARRAY_BUFFER, G.instances[k]);\n",
        "gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(a), gl.DYNAMIC_DRAW);\n",
        "});\n",
        "function solid(o) {\n",
        "for (k = 0; k < 3; k++) if (list[k].length) {\n",
        "bind(o, G.mesh[k].b, [[\"aN\", 3], [\"aK\", 3]], 0);\n",
        "bind(o, G.instances[k], [[\"iQ\", 4], [\"iP\", 3], [\"iS\", 4], [\"iC\", 4]], 1);\n",
        "G.draw(gl.TRIANGLES, G.mesh[k].n, list[k].length / 15);\n",
        "}\n",
        "unbind(o);\n",
        "}\n",
        "var R = Math.min(cam.dist * 1.1, radius * 2.2) + 2 * typical, lx = unit(cross([0, 0, 1], sun)), ly = cross(sun, lx), texel = 2 * R / G.size;\n",
        "var snap = function (a) { var t = dot(cam.target, a); return (Math.floor(t / texel) * texel - t) / R * -1; };\n",
        "var light = { uSun: sun, uSunC: theme.sun, uUp: theme.up, uDown: theme.down, uLx: mul(1 / R, lx), uLy: mul(1 / R, ly), uLz: mul(1 / (3 * R), sun),\n",
        "uLo: [snap(lx), snap(ly)], uShadow: S.shadows ? 1 : 0, uTexel: 1 / G.size, uBias: 1.6 * texel, uMap: 0 };\n",
        "gl.disable(gl.BLEND);\n",
        "gl.enable(gl.DEPTH_TEST);\n",
        "gl.depthMask(true);\n",
        "gl.depthFunc(gl.LEQUAL);\n",
        "if (S.shadows) {\n",
        "gl.bindFramebuffer(gl.FRAMEBUFFER, G.frame);\n",
        "gl.viewport(0, 0, G.size, G.size);\n",
        "gl.clearColor(1, 1, 1, 1);\n",
        "gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);\n",
        "set(G.depth, light);\n",
        "solid(G.depth);\n",
        "gl.bindFramebuffer(gl.FRAMEBUFFER, null);\n",
        "}\n",
        "gl.viewport(0, 0, w, h);\n",
        "gl.clear(gl.DEPTH_BUFFER_BIT);\n",
        "gl.activeTexture(gl.TEXTURE0);\n",
        "gl.bindTexture(gl.TEXTURE_2D, G.map);\n",
        "gl.depthMask(false);\n",
        "set(G.sky, { uX: mul(v.tan * v.aspect, v.x), uY: mul(v.tan, v.y), uZ: mul(-1, v.z), uTop: theme.top, uHor: theme.hor });\n",
        "bind(G.sky, G.quad, [[\"aP\", 2]], 0);\n",
        "gl.drawArrays(gl.TRIANGLES, 0, 6);\n",
        "unbind(G.sky);\n",
        "gl.depthMask(true);\n",
        "var common = { uVP: v.m, uEye: v.eye, uPix: v.pix };\n",
        "set(G.body, light);\n",
        "set(G.body, common);\n",
        "solid(G.body);\n",
        "gl.enable(gl.BLEND);\n",
        "gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);\n",
        "planes.forEach(function (s) {\n",
        "var o = shapePose(s, S.at), n, u, t, c, off, level, cell = gridCell();\n",
        "if (!o) return;\n",
        "n = rotate(o.q, [0, 0, 1]); u = rotate(o.q, [1, 0, 0]); t = rotate(o.q, [0, 1, 0]);\n",
        "level = n[2] > 0.98;\n",
        "var from = level ? cam.target : middle, rel = sub(from, o.p);\n",
        "c = sub(add(o.p, add(mul(dot(rel, u), u), mul(dot(rel, t), t))), cam.target);\n",
        "off = [dot(rel, u) % (10 * cell), dot(rel, t) % (10 * cell)];\n",
        "set(G.plane, light);\n",
        "set(G.plane, common);\n",
        "set(G.plane, { uX: v.x, uY: v.y, uC: c, uU: u, uV: t, uOff: off, uCell: cell, uR: level ? Math.max(radius * 9, cam.dist * 7) : radius * 2.4,\n",
        "uGround: s.color < 0 ? theme.ground : hex(s.color), uLine: theme.line, uAlpha: level ? 1 : 0.75 });\n",
        "bind(G.plane, G.quad, [[\"aP\", 2]], 0);\n",
        "gl.drawArrays(gl.TRIANGLES, 0, 6);\n",
        "unbind(G.plane);\n",
        "});\n",
        "if (S.forces && Cstart.length > f + 1) drawForces(v, common, light, f);\n",
        "gl.disable(gl.BLEND);\n",
        "}\n",
        "function drawForces(v, common, light, f) {\n",
        "var arrows = [], points = [], i, m, l, p, d, c, colors = dark.matches ? [hex(0x8a97a8), hex(0x3ecf7a), hex(0xff9d42)] : [hex(0x7b8694), hex(0x0f8a41), hex(0xe2690a)];\n",
        "for (i = Cstart[f]; i < Cstart[f + 1]; i++) {\n",
        "m = touchMode(i); c = colors[Math.min(m, 2)];\n",
        "p = [touchPoint(i, 0) - cam.target[0], touchPoint(i, 1) - cam.target[1], touchPoint(i, 2) - cam.target[2]];\n",
        "points.push(p[0], p[1], p[2], c[0], c[1], c[2]);\n",
        "l = Math.min(touchForce(i) * scaleN * arrow, 6 * typical * Math.max(arrow, 1));\n",
        "if (!(l > 0)) continue;\n",
        "d = touchWay(i);\n",
        "arrows.push(p[0], p[1], p[2], d[0] * l, d[1] * l, d[2] * l, c[0], c[1], c[2]);\n",
        "}\n",
        "gl.bindBuffer(gl.ARRAY_BUFFER, G.arrows);\n",
        "gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(arrows), gl.DYNAMIC_DRAW);\n",
        "gl.bindBuffer(gl.ARRAY_BUFFER, G.points);\n",
        "gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points), gl.DYNAMIC_DRAW);\n",
        "[[gl.GREATER, 0.5, false], [gl.LEQUAL, 1, true]].forEach(function (pass) {\n",
        "gl.depthFunc(pass[0]);\n",
        "gl.depthMask(pass[2]);\n",
        "if (arrows.length) {\n",
        "set(G.arrow, common);\n",
        "set(G.arrow, { uSun: light.uSun, uAlpha: pass[1], uW: Math.min(cam.dist * 0.0035, typical * 0.06) });\n",
        "bind(G.arrow, G.arrowMesh.b, [[\"aA\", 4]], 0);\n",
        "bind(G.arrow, G.arrows, [[\"iP\", 3], [\"iF\", 3], [\"iC\", 3]], 1);\n",
        "G.draw(gl.TRIANGLES, G.arrowMesh.n, arrows.length / 9);\n",
        "unbind(G.arrow);\n",
        "}\n",
        "if (points.length) {\n",
        "set(G.point, common);\n",
        "set(G.point, { uAlpha: pass[1], uSize: 5 * canvas.width / (canvas.clientWidth || 1) });\n",
        "bind(G.point, G.points, [[\"iP\", 3], [\"iC\", 3]], 0);\n",
        "gl.drawArrays(gl.POINTS, 0, points.length / 6);\n",
        "unbind(G.point);\n",
        "}\n",
        "});\n",
        "gl.depthFunc(gl.LEQUAL);\n",
        "gl.depthMask(true);\n",
        "}\n",
        "function gridCell() { return Math.pow(10, Math.floor(Math.log10(0.7 * radius))); }\n",
        "function dpr() { return Math.min(window.devicePixelRatio || 1, 2.5); }\n",
        "var sharp = 1, pace = 0; // a slow machine gets fewer pixels\n",
        "function fit() {\n",
        "var d = Math.max(Math.min(dpr(), 1), dpr() * (S.playing ? sharp : 1)), w = Math.max(1, Math.round(canvas.clientWidth * d)), h = Math.max(1, Math.round(canvas.clientHeight * d));\n",
        "if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; dirty = true; }\n",
        "}\n",
        "function pan(dx, dy) {\n",
        "var v = viewOf(), s = v.tan * 2 * cam.dist / (canvas.clientHeight || 1);\n",
        "cam.target = add(cam.target, add(mul(-dx * s, v.x), mul(dy * s, v.y)));\n",
        "dirty = true;\n",
        "}\n",
        "function orbit(dx, dy) {\n",
        "cam.yaw -= dx * 0.008;\n",
        "cam.pitch = Math.max(-1.5, Math.min(1.55, cam.pitch + dy * 0.008));\n",
        "dirty = true;\n",
        "}\n",
        "function zoom(s) {\n",
        "cam.dist = Math.max(typical * 0.6, Math.min(radius * 30, cam.dist * s));\n",
        "dirty = true;\n",
        "}\n",
        "var fingers = new Map(), down = null;\n",
        "canvas.addEventListener(\"pointerdown\", function (e) {\n",
        "canvas.focus({ preventScroll: true });\n",
        "canvas.setPointerCapture(e.pointerId);\n",
        "fingers.set(e.pointerId, [e.clientX, e.clientY]);\n",
        "down = fingers.size === 1 ? { x: e.clientX, y: e.clientY, moved: false, pan: e.button === 1 || e.button === 2 || e.shiftKey } : null;\n",
        "canvas.classList.add(\"drag\");\n",
        "e.preventDefault();\n",
        "});\n",
        "canvas.addEventListener(\"pointermove\", function (e) {\n",
        "var p = fingers.get(e.pointerId), o, before, after;\n",
        "if (!p) return;\n",
        "if (fingers.size === 1) {\n",
        "if (down && Math.hypot(e.clientX - down.x, e.clientY - down.y) > 5) down.moved = true;\n",
        "if (!down || down.moved) (down && down.pan ? pan : orbit)(e.clientX - p[0], e.clientY - p[1]);\n",
        "} else if (fingers.size === 2) {\n",
        "fingers.forEach(function (q, id) { if (id !== e.pointerId) o = q; });\n",
        "before = Math.hypot(p[0] - o[0], p[1] - o[1]);\n",
        "after = Math.hypot(e.clientX - o[0], e.clientY - o[1]);\n",
        "if (before > 0 && after > 0) zoom(before / after);\n",
        "pan((e.clientX - p[0]) / 2, (e.clientY - p[1]) / 2);\n",
        "}\n",
        "fingers.set(e.pointerId, [e.clientX, e.clientY]);\n",
        "});\n",
        "function lift(e) {\n",
        "if (!fingers.delete(e.pointerId)) return;\n",
        "if (e.type === \"pointerup\" && down && !down.moved && !down.pan && fingers.size === 0) {\n",
        "var r = canvas.getBoundingClientRect();\n",
        "follow(pick(e.clientX - r.left, e.clientY - r.top));\n",
        "}\n",
        "if (fingers.size === 0) { down = null; canvas.classList.remove(\"drag\"); }\n",
        "}\n",
        "canvas.addEventListener(\"pointerup\", lift);\n",
        "canvas.addEventListener(\"pointercancel\", lift);\n",
        "canvas.addEventListener(\"contextmenu\", function (e) { e.preventDefault(); });\n",
        "canvas.addEventListener(\"wheel\", function (e) {\n",
        "e.preventDefault();\n",
        "zoom(Math.exp(Math.max(-240, Math.min(240, e.deltaY * (e.deltaMode ? 30 : 1))) * 0.0014));\n",
        "}, { passive: false });\n",
        "function pick(x, y) {\n",
        "var v = viewOf(), best = Infinity, found = -1;\n",
        "var d = unit(add(mul(-1, v.z), add(mul((2 * x / canvas.clientWidth - 1) * v.tan * v.aspect, v.x), mul((1 - 2 * y / canvas.clientHeight) * v.tan, v.y))));\n",
        "var eye = add(v.eye, cam.target);\n",
        "solids.forEach(function (s) {\n",
        "var o = shapePose(s, S.at), l, r, t = Infinity, k;\n",
        "if (!o) return;\n",
        "l = rotate(back(o.q), sub(eye, o.p)); r = rotate(back(o.q), d);\n",
        "function ball(z) {\n",
        "var a = [l[0], l[1], l[2] - z], b = dot(a, r), c = b * b - dot(a, a) + s.radius * s.radius;\n",
        "if (c >= 0 && -b - Math.sqrt(c) > 0) t = Math.min(t, -b - Math.sqrt(c));\n",
        "}\n",
        "if (s.kind === BOX) {\n",
        "var lo = 0, hi = Infinity;\n",
        "for (k = 0; k < 3; k++) {\n",
        "var p = (-s.half[k] - l[k]) / r[k], q = (s.half[k] - l[k]) / r[k];\n",
        "lo = Math.max(lo, Math.min(p, q)); hi = Math.min(hi, Math.max(p, q));\n",
        "}\n",
        "if (lo <= hi) t = lo;\n",
        "} else if (s.kind === SPHERE) ball(0);\n",
        "else {\n",
        "ball(s.half[2]); ball(-s.half[2]);\n",
        "var A = r[0] * r[0] + r[1] * r[1], B = l[0] * r[0] + l[1] * r[1], D = B * B - A * (l[0] * l[0] + l[1] * l[1] - s.radius * s.radius);\n",
        "if (A > 1e-12 && D >= 0) { k = (-B - Math.sqrt(D)) / A; if (k > 0 && Math.abs(l[2] + k * r[2]) <= s.half[2]) t = Math.min(t, k); }\n",
        "}\n",
        "if (t < best) { best = t; found = s.track; }\n",
        "});\n",
        "return found;\n",
        "}\n",
        "function follow(track) {\n",
        "S.track = track > 0 ? track : -1;\n",
        "$(\"follow\").hidden = S.track < 0;\n",
        "if (S.track > 0) {\n",
        "$(\"f-name\").textContent = \"following body \" + M.tracks[S.track];\n",
        "anchor = null;\n",
        "}\n",
        "dirty = true;\n",
        "}\n",
        "var anchor = null;\n",
        "function keepUp(dt) {\n",
        "if (S.track < 0) return;\n",
        "var o = poseOf(S.track, S.at), i;\n",
        "if (!o) return;\n",
        "if (anchor) cam.target = add(cam.target, sub(o.p, anchor));\n",
        "anchor = o.p;\n",
        "var gap = sub(o.p, cam.target), far = Math.hypot(gap[0], gap[1], gap[2]);\n",
        "if (far > 1e-4 * cam.dist) { cam.target = add(cam.target, mul(1 - Math.exp(-6 * dt), gap)); dirty = true; }\n",
        "}\n",
        "var PREFIX = [[1e18, \"E\"], [1e15, \"P\"], [1e12, \"T\"], [1e9, \"G\"], [1e6, \"M\"], [1e3, \"k\"], [1, \"\"], [1e-3, \"m\"], [1e-6, \"\\u00b5\"], [1e-9, \"n\"], [1e-12, \"p\"]];\n",
        "function brief(x, unit, digits) {\n",
        "var i = 0;\n",
        "if (!(x > 0)) return \"0 \" + unit;\n",
        "while (i < PREFIX.length - 1 && x < 0.9995 * PREFIX[i][0]) i++;\n",
        "return +(x / PREFIX[i][0]).toPrecision(digits) + \" \" + PREFIX[i][1] + unit;\n",
        "}\n",
        "function nice(x) {\n",
        "var p = Math.pow(10, Math.floor(Math.log10(x))), m = x / p;\n",
        "return (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10) * p;\n",
        "}\n",
        "function ticks(lo, hi, most) {\n",
        "var s = nice((hi - lo) / Math.max(1, most)), r = [], k;\n",
        "for (k = Math.ceil(lo / s - 1e-9); k * s <= hi + 1e-9 * s; k++) r.push(Math.abs(k * s) < 1e-12 * s ? 0 : k * s);\n",
        "r.digits = Math.max(0, Math.min(8, -Math.floor(Math.log10(s) + 1e-9)));\n",
        "return r;\n",
        "}\n",
        "function number(x, digits) {\n",
        "if (!(x === x)) return \"\\u2013\";\n",
        "return x.toFixed(digits).replace(\"-\", \"\\u2212\");\n",
        "}\n",
        "function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }\n",
        "function Plot(canvas, caption, title, axis, unit, series, whole) {\n",
        "var self = this, lo = 0, hi = 0, some = false;\n",
        "self.hover = null;\n",
        "series.forEach(function (s) {\n",
        "for (var i = 0; i < N; i++) if (isFinite(s.data[i])) {\n",
        "lo = some ? Math.min(lo, s.data[i]) : s.data[i]; hi = some ? Math.max(hi, s.data[i]) : s.data[i]; some = true;\n",
        "}\n",
        "});\n",
        "var big = Math.max(Math.abs(lo), Math.abs(hi)), k = 1, p = \"\";\n",
        "if (!whole) for (var j = 0; j < PREFIX.length; j++) { k = PREFIX[j][0]; p = PREFIX[j][1]; if (big >= 0.999 * k) break; }\n",
        "if (!(big > 0)) { k = 1; p = \"\"; }\n",
        "lo /= k; hi /= k;\n",
        "if (whole || (lo > 0 && lo < 0.6 * hi)) lo = Math.min(0, lo);\n",
        "if (whole) hi = Math.max(hi, 4);\n",
        "if (!(hi > lo)) { lo -= 0.5; hi += 0.5; }\n",
        "var span = hi - lo;\n",
        "hi += 0.06 * span;\n",
        "if (lo < 0) lo -= 0.04 * span;\n",
        "var name = title + (unit ? \", \" + p + unit : \"\");\n",
        "caption.innerHTML = \"<b></b>\";\n",
        "caption.firstChild.textContent = name;\n",
        "series.forEach(function (s) {\n",
        "var e = document.createElement(\"span\"), i = document.createElement(\"i\");\n",
        "e.className = \"legend\";\n",
        "i.style.background = \"var(\" + s.color + \")\";\n",
        "s.out = document.createElement(\"output\");\n",
        "s.out.setAttribute(\"aria-live\", \"off\");\n",
        "e.append(i, s.name + \" \", s.out);\n",
        "caption.append(e);\n",
        "});\n",
        "var when = document.createElement(\"span\");\n",
        "when.className = \"legend\";\n",
        "caption.append(when);\n",
        "canvas.setAttribute(\"aria-label\", name + \" over time from \" + number(M.start, 2) + \" to \" + number(M.start + (N - 1) * H, 2) + \" s, between \" +\n",
        "number(lo, 2) + \" and \" + number(hi, 2) + \": \" + series.map(function (s) { return s.name; }).join(\", \"));\n",
        "var still = document.createElement(\"canvas\"), box = null;\n",
        "function X(i) { return box.l + (N > 1 ? i / (N - 1) : 0) * box.w; }\n",
        "function Y(y) { return box.t + (hi - y) / (hi - lo) * box.h; }\n",
        "self.layout = function () {\n",
        "var d = dpr(), w = canvas.clientWidth, h = canvas.clientHeight, c = still.getContext(\"2d\"), y;\n",
        "if (!w || !h) { box = null; return; }\n",
        "canvas.width = still.width = Math.round(w * d);\n",
        "canvas.height = still.height = Math.round(h * d);\n",
        "c.setTransform(d, 0, 0, d, 0, 0);\n",
        "c.clearRect(0, 0, w, h);\n",
        "c.font = \"11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\";\n",
        "var ys = ticks(lo, hi, Math.max(2, (h - 34) / 26)), left = 0;\n",
        "if (whole) ys = ys.filter(function (y) { return y === Math.round(y); });\n",
        "if (whole) ys.digits = 0;\n",
        "ys.forEach(function (y) { left = Math.max(left, c.measureText(number(y, ys.digits)).width); });\n",
        "box = { l: Math.ceil(left) + 24, t: 6, w: 0, h: h - 6 - 32 };\n",
        "box.w = w - box.l - 8;\n",
        "c.textBaseline = \"middle\";\n",
        "c.textAlign = \"right\";\n",
        "c.lineWidth = 1;\n",
        "ys.forEach(function (y) {\n",
        "var q = Math.round(Y(y)) + 0.5;\n",
        "c.strokeStyle = css(y === 0 ? \"--line\" : \"--grid\");\n",
        "c.beginPath(); c.moveTo(box.l, q); c.lineTo(box.l + box.w, q); c.stroke();\n",
        "c.fillStyle = css(\"--soft\");\n",
        "c.fillText(number(y, ys.digits), box.l - 6, q);\n",
        "});\n",
        "var t0 = M.start, t1 = M.start + (N - 1) * H, xs = ticks(t0, t1 > t0 ? t1 : t0 + 1, Math.max(2, box.w / 70));\n",
        "c.textBaseline = \"top\";\n",
        "c.textAlign = \"center\";\n",
        "xs.forEach(function (t) {\n",
        "var q = Math.round(X((t - t0) / H)) + 0.5;\n",
        "if (q > box.l + box.w + 1) return;\n",
        "c.strokeStyle = css(\"--line\");\n",
        "c.beginPath(); c.moveTo(q, box.t + box.h); c.lineTo(q, box.t + box.h + 4); c.stroke();\n",
        "c.fillStyle = css(\"--soft\");\n",
        "c.fillText(number(t, xs.digits), Math.min(q, w - c.measureText(number(t, xs.digits)).width / 2), box.t + box.h + 6);\n",
        "});\n",
        "c.fillText(\"time, s\", box.l + box.w / 2, box.t + box.h + 19);\n",
        "c.save();\n",
        "c.translate(7, box.t + box.h / 2);\n",
        "c.rotate(-Math.PI / 2);\n",
        "c.textBaseline = \"middle\";\n",
        "c.fillText(axis + (unit ? \", \" + p + unit : \"\"), 0, 0);\n",
        "c.restore();\n",
        "c.strokeStyle = css(\"--line\");\n",
        "c.strokeRect(box.l + 0.5, box.t + 0.5, box.w - 1, box.h);\n",
        "c.save();\n",
        "c.beginPath(); c.rect(box.l, box.t, box.w, box.h + 1); c.clip();\n",
        "series.slice().reverse().forEach(function (s) { trace(c, s); }); // the first on top\n",
        "c.restore();\n",
        "self.draw();\n",
        "};\n",
        "function trace(c, s) {\n",
        "var per = (N - 1) / Math.max(1, box.w), i, j, pen = false, y;\n",
        "c.strokeStyle = c.fillStyle = css(s.color);\n",
        "c.lineWidth = s.width || 1.5;\n",
        "c.lineJoin = \"round\";\n",
        "c.beginPath();\n",
        "var by = per > 2 ? per : 1, first = -1, last = -1;\n",
        "for (i = 0; i < N; i += by) {\n",
        "var a = Math.floor(i), b = Math.min(N, Math.max(a + 1, Math.floor(i + by))), l = Infinity, h = -Infinity;\n",
        "for (j = a; j < b; j++) if (isFinite(s.data[j])) { y = s.data[j] / k; l = Math.min(l, y); h = Math.max(h, y); }\n",
        "if (l > h) { pen = false; continue; }\n",
        "if (first < 0) first = a;\n",
        "last = a;\n",
        "if (s.step && pen && by === 1) c.lineTo(X(a), Y(s.data[a - 1] / k));\n",
        "if (pen) c.lineTo(X(a), Y(h)); else c.moveTo(X(a), Y(h));\n",
        "if (h > l) c.lineTo(X(a), Y(l));\n",
        "pen = true;\n",
        "}\n",
        "c.stroke();\n",
        "if (s.fill && first >= 0) {\n",
        "c.lineTo(X(last), Y(0)); c.lineTo(X(first), Y(0)); c.closePath();\n",
        "c.globalAlpha = 0.14; c.fill(); c.globalAlpha = 1;\n",
        "}\n",
        "}\n",
        "self.draw = function () {\n",
        "if (!box) return;\n",
        "var c = canvas.getContext(\"2d\"), d = dpr(), at = self.hover === null ? S.at : self.hover, f = Math.max(0, Math.min(N - 1, Math.round(at))), x;\n",
        "c.setTransform(1, 0, 0, 1, 0, 0);\n",
        "c.clearRect(0, 0, canvas.width, canvas.height);\n",
        "c.drawImage(still, 0, 0);\n",
        "c.setTransform(d, 0, 0, d, 0, 0);\n",
        "x = X(S.at);\n",
        "c.strokeStyle = css(\"--text\");\n",
        "c.lineWidth = 1.5;\n",
        "c.beginPath(); c.moveTo(x, box.t); c.lineTo(x, box.t + box.h); c.stroke();\n",
        "if (self.hover !== null) {\n",
        "c.strokeStyle = css(\"--soft\");\n",
        "c.lineWidth = 1;\n",
        "c.setLineDash([3, 3]);\n",
        "c.beginPath(); c.moveTo(X(f), box.t); c.lineTo(X(f), box.t + box.h); c.stroke();\n",
        "c.setLineDash([]);\n",
        "}\n",
        "series.slice().reverse().forEach(function (s) {\n",
        "var y = s.data[f] / k;\n",
        "s.out.textContent = isFinite(y) ? number(y, whole ? 0 : digitsFor(hi - lo)) : \"\\u2013\";\n",
        "if (!isFinite(y)) return;\n",
        "c.fillStyle = css(s.color);\n",
        "c.beginPath(); c.arc(X(f), Y(y), 3, 0, 7); c.fill();\n",
        "});\n",
        "when.textContent = self.hover === null ? \"\" : \"at \" + number(M.start + f * H, 3) + \" s\";\n",
        "};\n",
        "function digitsFor(range) { return Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(range)))); }\n",
        "function frameAt(e) {\n",
        "var r = canvas.getBoundingClientRect();\n",
        "return box ? Math.max(0, Math.min(N - 1, (e.clientX - r.left - box.l) / box.w * (N - 1))) : 0;\n",
        "}\n",
        "var held = false;\n",
        "canvas.addEventListener(\"pointerdown\", function (e) { held = true; canvas.setPointerCapture(e.pointerId); seek(Math.round(frameAt(e))); });\n",
        "canvas.addEventListener(\"pointermove\", function (e) {\n",
        "plots.forEach(function (p) { p.hover = frameAt(e); });\n",
        "if (held) seek(Math.round(frameAt(e)));\n",
        "plots.forEach(function (p) { p.draw(); });\n",
        "});\n",
        "function out() { plots.forEach(function (p) { p.hover = null; p.draw(); }); }\n",
        "canvas.addEventListener(\"pointerup\", function (e) { held = false; if (e.pointerType !== \"mouse\") out(); });\n",
        "canvas.addEventListener(\"pointercancel\", function () { held = false; out(); });\n",
        "canvas.addEventListener(\"pointerleave\", function () { if (!held) out(); });\n",
        "}\n",
        "var plots = [\n",
        "new Plot($(\"p1\"), $(\"l1\"), M.every > 1 ? \"most work of a step\" : \"work of a step\", \"iterations\", \"\", [\n",
        "{ name: \"iterations\", color: \"--c1\", data: stats.iterations, step: true, fill: true },\n",
        "{ name: \"factorizations\", color: \"--c2\", data: stats.factorizations, step: true }], true),\n",
        "new Plot($(\"p2\"), $(\"l2\"), \"energy\", \"energy\", \"J\", [\n",
        "{ name: \"total\", color: \"--c5\", data: stats.total },\n",
        "{ name: \"kinetic\", color: \"--c3\", data: stats.kinetic },\n",
        "{ name: \"potential\", color: \"--c4\", data: stats.potential }], false)\n",
        "];\n",
        "function frameWord() { return \"frame \" + Math.floor(S.at) + \" of \" + (N - 1); }\n",
        "function show() {\n",
        "var f = Math.floor(S.at), n = Cstart[f + 1] - Cstart[f], slips = 0, near = 0, i, t = M.start + S.at * H;\n",
        "for (i = Cstart[f]; i < Cstart[f + 1]; i++) { if (touchMode(i) === 2) slips++; if (touchMode(i)) near++; }\n",
        "$(\"h-time\").textContent = number(t, 3) + \" s\";\n",
        "$(\"h-frame\").textContent = f + \" / \" + (N - 1);\n",
        "$(\"h-it\").textContent = number(stats.iterations[f], 0);\n",
        "$(\"h-con\").textContent = near;\n",
        "$(\"h-slip\").textContent = slips;\n",
        "$(\"h-pen\").textContent = isFinite(stats.penetration[f]) ? brief(stats.penetration[f], \"m\", 3) : \"\\u2013\";\n",
        "$(\"clock\").innerHTML = \"\";\n",
        "var rest = document.createElement(\"span\");\n",
        "rest.textContent = \" / \" + number(M.start + (N - 1) * H, 2) + \" s\";\n",
        "$(\"clock\").append(number(t, 2), rest);\n",
        "$(\"scrub\").value = S.at;\n",
        "$(\"scrub\").setAttribute(\"aria-valuetext\", number(t, 2) + \" seconds, \" + frameWord());\n",
        "plots.forEach(function (p) { p.draw(); });\n",
        "}\n",
        "function seek(at) {\n",
        "S.at = Math.max(0, Math.min(N - 1, at));\n",
        "dirty = true;\n",
        "}\n",
        "function play(on) {\n",
        "if (on && S.at >= N - 1) seek(0);\n",
        "S.playing = on && N > 1;\n",
        "$(\"i-play\").setAttribute(\"d\", S.playing ? \"M7 5h3.500v14H7zM13.500 5H17v14h-3.500z\" : \"M8 5l11 7-11 7z\");\n",
        "$(\"play\").setAttribute(\"aria-label\", S.playing ? \"Pause\" : \"Play\");\n",
        "dirty = true;\n",
        "}\n",
        "function step(n) { play(false); seek((n > 0 ? Math.floor(S.at + 1e-6) : Math.ceil(S.at - 1e-6)) + n); }\n",
        "function setSpeed(i) {\n",
        "i = Math.max(0, Math.min(speeds.length - 1, i));\n",
        "S.speed = speeds[i];\n",
        "$(\"speed\").value = i;\n",
        "}\n",
        "function toggle(name, id) {\n",
        "S[name] = !S[name];\n",
        "$(id).setAttribute(\"aria-pressed\", S[name]);\n",
        "$(\"key\").hidden = !S.forces;\n",
        "document.body.classList.toggle(\"noplots\", !S.plots);\n",
        "if (name === \"plots\") plots.forEach(function (p) { p.layout(); });\n",
        "$(\"live\").textContent = $(id).getAttribute(\"aria-label\") + (S[name] ? \" on\" : \" off\");\n",
        "dirty = true;\n",
        "}\n",
        "function lengthen(s) { arrow = Math.max(1 / 32, Math.min(32, arrow * s)); scaleText(); dirty = true; }\n",
        "function scaleText() {\n",
        "var l = nice(typical), n = l / (scaleN * arrow);\n",
        "$(\"k-scale\").textContent = Cstart[N] > 0 ? brief(l, \"m\", 2) + \" of arrow = \" + brief(n, \"N\", 2) : \"\";\n",
        "}\n",
        "function help() { if ($(\"about\").open) $(\"about\").close(); else if ($(\"about\").showModal) $(\"about\").showModal(); }\n",
        "speeds.forEach(function (x, i) { $(\"speed\").append(new Option(x + \"\\u00d7\", i)); });\n",
        "$(\"speed\").addEventListener(\"change\", function () { setSpeed(+this.value); this.blur(); });\n",
        "$(\"scrub\").max = Math.max(1, N - 1);\n",
        "$(\"scrub\").addEventListener(\"input\", function () { play(false); seek(+this.value); });\n",
        "function click(id, what) { $(id).addEventListener(\"click\", function (e) { what(); if (e.detail > 0) this.blur(); }); }\n",
        "click(\"play\", function () { play(!S.playing); });\n",
        "click(\"first\", function () { seek(0); });\n",
        "click(\"back\", function () { step(-1); });\n",
        "click(\"next\", function () { step(1); });\n",
        "click(\"loop\", function () { toggle(\"loop\", \"loop\"); });\n",
        "click(\"forces\", function () { toggle(\"forces\", \"forces\"); });\n",
        "click(\"shadows\", function () { toggle(\"shadows\", \"shadows\"); });\n",
        "click(\"plot\", function () { toggle(\"plots\", \"plot\"); });\n",
        "click(\"reset\", resetView);\n",
        "click(\"help\", help);\n",
        "$(\"about\").addEventListener(\"close\", function () { canvas.focus({ preventScroll: true }); });\n",
        "click(\"unfollow\", function () { follow(-1); });\n",
        "document.addEventListener(\"keydown\", function (e) {\n",
        "var t = e.target, i = speeds.indexOf(S.speed), k = e.key.length === 1 ? e.key.toLowerCase() : e.key;\n",
        "if (e.ctrlKey || e.metaKey || e.altKey) return;\n",
        "if (k === \"Tab\") document.body.classList.add(\"keys\");\n",
        "if ($(\"about\").open) { if (k === \"h\" || k === \"?\") { help(); e.preventDefault(); } return; }\n",
        "if (t.tagName === \"SELECT\" && /^(Arrow|Home|End| )/.test(k)) return;\n",
        "if (t.tagName === \"BUTTON\" && k === \" \" && t.offsetParent) return;\n",
        "if (k === \" \") play(!S.playing);\n",
        "else if (k === \"ArrowLeft\") step(e.shiftKey ? -10 : -1);\n",
        "else if (k === \"ArrowRight\") step(e.shiftKey ? 10 : 1);\n",
        "else if (k === \"ArrowUp\") zoom(1 / 1.1);\n",
        "else if (k === \"ArrowDown\") zoom(1.1);\n",
        "else if (k === \"Home\") seek(0);\n",
        "else if (k === \"End\") { play(false); seek(N - 1); }\n",
        "else if (k === \"+\" || k === \"=\") setSpeed(i + 1);\n",
        "else if (k === \"-\" || k === \"_\") setSpeed(i - 1);\n",
        "else if (k === \"f\") toggle(\"forces\", \"forces\");\n",
        "else if (k === \"s\") toggle(\"shadows\", \"shadows\");\n",
        "else if (k === \"l\") toggle(\"loop\", \"loop\");\n",
        "else if (k === \"p\") toggle(\"plots\", \"plot\");\n",
        "else if (k === \"r\") resetView();\n",
        "else if (k === \"h\" || k === \"?\") help();\n",
        "else if (k === \"[\") lengthen(1 / 1.25);\n",
        "else if (k === \"]\") lengthen(1.25);\n",
        "else if (k === \"Escape\") follow(-1);\n",
        "else return;\n",
        "e.preventDefault();\n",
        "});\n",
        "document.addEventListener(\"pointerdown\", function () { document.body.classList.remove(\"keys\"); });\n",
        "var before = 0;\n",
        "function tick(now) {\n",
        "var dt = Math.min(1, Math.max(0, (now - before) / 1000));\n",
        "before = now;\n",
        "if (S.playing) {\n",
        "pace = pace ? 0.93 * pace + 0.07 * dt : dt;\n",
        "if (pace > 0.045 && sharp > 0.4) { sharp *= 0.8; pace = 0.03; }\n",
        "var at = S.at + dt * S.speed / H;\n",
        "if (at >= N - 1) {\n",
        "if (S.loop) at = at - (N - 1) < 1 ? N - 1 : 0;\n",
        "else { at = N - 1; play(false); }\n",
        "if (S.loop && S.at >= N - 1) at = 0;\n",
        "}\n",
        "seek(at);\n",
        "}\n",
        "keepUp(dt);\n",
        "fit();\n",
        "if (dirty) { dirty = false; show(); draw(); }\n",
        "requestAnimationFrame(tick);\n",
        "}\n",
        "function relayout() { fit(); plots.forEach(function (p) { p.layout(); }); dirty = true; }\n",
        "new ResizeObserver(relayout).observe($(\"view\"));\n",
        "window.addEventListener(\"resize\", relayout);\n",
        "if (dark.addEventListener) dark.addEventListener(\"change\", relayout);\n",
        "var bodies = M.tracks.length - 1;\n",
        "$(\"facts\").textContent = [bodies + (bodies === 1 ? \" body\" : \" bodies\"), \"step \" + +(1000 * M.dt).toPrecision(4) + \" ms\" + (M.every > 1 ? \", every \" + M.every + \"th shown\" : \"\"),\n",
        "N + \" frames\", M.real].join(\"  \\u00b7  \").concat(planes.length ? \"  \\u00b7  grid \" + brief(gridCell(), \"m\", 2) : \"\");\n",
        "setSpeed(3);\n",
        "scaleText();\n",
        "try { start(); } catch (e) { G = null; fail(\"The 3-D view could not start: \" + e.message); }\n",
        "relayout();\n",
        "resetView();\n",
        "var asked = /(?:^|[#&])t=([0-9.]+)/.exec(location.hash);\n",
        "if (asked) seek(Math.round((+asked[1] - M.start) / H));\n",
        "play(!asked && !matchMedia(\"(prefers-reduced-motion: reduce)\").matches);\n",
        "requestAnimationFrame(function (now) { before = now; tick(now); });\n",
        "window.replay = { state: S, pose: poseOf, camera: cam, meta: M, stats: stats, seek: seek, play: play, follow: follow, pick: pick, frames: N, works: function () { return !!G; },\n",
        "pixels: function () {\n",
        "var a = new Uint8Array(canvas.width * canvas.height * 4);\n",
        "draw();\n",
        "gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, a);\n",
        "return { width: canvas.width, height: canvas.height, data: a };\n",
        "} };\n",
        "})();\n",
        "</script>\n",
        "</body>\n",
        "</html>\n",
        NULL
    };
    return page;
}
// clang-format on

#endif
